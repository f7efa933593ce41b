//  argosd_options - the command line of argosd.

#ifndef ARGOSD_OPTIONS_H
#define ARGOSD_OPTIONS_H

#include "argosd_place.h"

typedef struct {
    char home[PATH_MAX];    //  Folder
    int port;               //  Of the API; -1 = as configured
    bool visit;             //  Without the core: the home is not ours alone
    argosd_options_t place; //  What runs; borrowed from argv
} argosd_line_t;

//  Reads the line. Returns -1 to go on, else the exit code of the process, after it has printed
//  what is to be said.
int argosd_options_read (argosd_line_t *self, int argc, char **argv);

#endif
