//  argosd_doctor - `argos doctor`: the state of one examination, shared by the files that look at
//  the home (argosd_doctor_home.c) and at the host around it (argosd_doctor_host.c).
//
//  A check is a row of the table in argosd_doctor.c. It says what it finds, each time with the
//  cure; what is curable it cures itself when it may (fix), and nothing else.

#ifndef ARGOSD_DOCTOR_H
#define ARGOSD_DOCTOR_H

#include "argos_config.h"
#include "argosd_host.h"

#define DOCTOR_FIX "argos doctor --fix" //  The cure of what this command cures

typedef enum {
    DOCTOR_GOOD,    //  As it has to be
    DOCTOR_WARNING, //  It works, but not for good, or not as it was meant
    DOCTOR_FAULT,   //  Something does not work, or is open to others
    DOCTOR_CURED,   //  Was one of these two
    DOCTOR_LEVELS   //  How many there are
} doctor_level_t;

typedef struct {
    argos_cli_t *cli;         //  How to print; home and endpoint
    bool fix;                 //  What is curable may be cured
    bool held;                //  An argosd runs on the home
    cli_node_t node;          //  It, when its core is elsewhere; pid 0 = it is not
    bool absent;              //  There is no home: the checks of it are left out
    argos_config_t *config;   //  The settings, NULL = not valid
    const char *check;        //  Name of the row that is being looked at
    json_t *findings;         //  All of them
    int count[DOCTOR_LEVELS]; //  How many of each
} doctor_t;

typedef void (doctor_check_t) (doctor_t *self);

//  Notes a finding; cure NULL = none is needed.
void argosd_doctor_say (doctor_t *self, doctor_level_t level, const char *cure, const char *format,
    ...) __attribute__ ((format (printf, 4, 5)));

//  What is curable: level when nothing was tried, CURED when rc is 0. The cure of what could not be
//  cured is the sentence `other`.
void argosd_doctor_curable (doctor_t *self, doctor_level_t level, int rc, const char *other,
    const char *format, ...) __attribute__ ((format (printf, 5, 6)));

//  The checks
doctor_check_t argosd_doctor_home, argosd_doctor_permissions, argosd_doctor_daemon,
    argosd_doctor_leftovers, argosd_doctor_keys;
doctor_check_t argosd_doctor_settings, argosd_doctor_secrets, argosd_doctor_provider,
    argosd_doctor_adapters;
doctor_check_t argosd_doctor_database, argosd_doctor_disk, argosd_doctor_clock,
    argosd_doctor_descriptors, argosd_doctor_ports;

#endif
