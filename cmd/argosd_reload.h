//  argosd_reload - new settings for a daemon that runs.
//
//  The snapshot goes to each actor that wants it as text, by its pipe: it is a value, and each
//  keeps its own. An actor that is started again later gets it once more.

#ifndef ARGOSD_RELOAD_H
#define ARGOSD_RELOAD_H

#include "argos_config.h"
#include "argos_supervisor.h"

typedef struct {
    const char *home;               //  Folder
    argos_supervisor_t *supervisor; //  Of the actors
    json_t *settings;               //  That hold now; ours
    char run_id[40];                //  Turn that has asked for a restart, "" = none
} argosd_reload_t;

//  Begins with the settings of config; the supervisor will call us when there is something to do.
//  Everything is borrowed until argosd_reload_end.
void argosd_reload_begin (
    argosd_reload_t *self, const argos_config_t *config, argos_supervisor_t *supervisor);
void argosd_reload_end (argosd_reload_t *self);

#endif
