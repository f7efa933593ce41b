//  argosd_join - `argosd join TICKET [--home DIR]`: makes the home of a node on this machine.

#ifndef ARGOSD_JOIN_H
#define ARGOSD_JOIN_H

#define ARGOSD_JOIN "join"

//  argv[0] is the word join. The ticket may be `-`: then it is the first line of stdin. Writes
//  keys/NAME.key and node.json, and argos.yaml when there is none. Returns the exit code: 0, 2 for
//  a wrong line, 1 with one sentence for everything else, and then no key was written.
int argosd_join (int argc, char **argv);

#endif
