//  argos_tty - a terminal to read from without ever waiting.

#ifndef ARGOS_TTY_H
#define ARGOS_TTY_H

//  A descriptor of the terminal that is stdin. A read of it says EAGAIN when nothing is there: what
//  was typed may be gone between the word that it is there and the read, for Ctrl-C throws it away.
//  It is a description of its own, so that for others who have the terminal nothing changes. Close
//  it. Where none can be had (no /proc) it is stdin itself, which may wait then.
int argos_tty_open (void);
void argos_tty_close (int fd);

#endif
