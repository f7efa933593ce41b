/* credit.pml - the window between a peer and the broker, checked with spin.
 * Both ways the same: the receiver tells the sender an absolute total, counted over the session, of
 * what may be sent; the sender counts what it has sent. A word of credit may be lost by a connection
 * that takes nothing for a while (the receiver says its newest total again as soon as it can), and a
 * connection may end at any time: with the next session both count from 0 and the window is full.
 * Properties:
 *   1 never more under way than the window           (no overrun)
 *   2 the sender can always go on in the end         (no deadlock: all N are settled)
 * Planted faults, each of which has to be found: RELATIVE a grant is added, so a lost one is lost for
 * good and a repeated one counts twice; NOREPEAT a grant that was not taken is not said again;
 * KEEPCOUNT the sender keeps its count over a reconnect, or (KEEPGRANT) the old grant.
 */
#ifndef N
#define N 5             /* messages */
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef LOSSES
#define LOSSES 2        /* words of credit that are not taken */
#endif
#ifndef CUTS
#define CUTS 1          /* connections that end */
#endif
#ifndef RELATIVE
#define RELATIVE 0
#endif
#ifndef NOREPEAT
#define NOREPEAT 0
#endif
#ifndef KEEPCOUNT
#define KEEPCOUNT 0
#endif
#ifndef KEEPGRANT
#define KEEPGRANT 0
#endif

chan data = [4] of { byte };                  /* session */
chan words = [4] of { byte, byte };           /* session, total (RELATIVE: difference) */
byte session, settled, sent_all, cuts = CUTS, losses = LOSSES;
byte granted_by = WINDOW;                     /* what the receiver has allowed in this session */
byte got, done_here, told = WINDOW;                 /* receiver, this session: received, settled, newest total taken by the connection */
byte used, granted = WINDOW;                  /* sender, this session */

inline connect() {
    session++;
    do :: len(data) -> data?_ :: else -> break od;
    do :: len(words) -> words?_,_ :: else -> break od;
    got = 0; done_here = 0; granted_by = WINDOW; told = WINDOW;
    if :: KEEPCOUNT -> skip :: else -> used = 0 fi;
    if :: KEEPGRANT -> granted = (granted > WINDOW -> granted : WINDOW) :: else -> granted = WINDOW fi;
    sent_all = settled                        /* what was not answered is sent again */
}

active proctype sender()
{
    byte s, total;
    do
    :: atomic { sent_all < N && used < granted && nfull(data) -> data!session; used++; sent_all++ }
    :: atomic { words?s,total ->
       if :: s != session -> skip
          :: s == session && RELATIVE -> granted = granted + total
          :: s == session && !RELATIVE && total > granted -> granted = total
          :: else fi; s = 0; total = 0 }
    :: atomic { cuts > 0 -> cuts--; d_step { connect() } }
    :: settled == N -> break
    od
}

active proctype receiver()
{
    byte s;
    do
    :: atomic { data?s ->
       if :: s == session -> got++;
             assert(got <= granted_by);           /* 1: what was granted is not exceeded */
             assert(got - done_here <= WINDOW)    /* 1 */
          :: else fi; s = 0 }
    /* what is under way is settled, in any order with the rest */
    :: atomic { done_here < got && settled < N -> done_here++; settled++; granted_by = done_here + WINDOW }
    /* the newest total goes out, or is not taken */
    :: atomic { told < granted_by && nfull(words) ->
       if
       :: words!session,(RELATIVE -> granted_by - told : granted_by); told = granted_by
       :: losses > 0 -> losses--; if :: NOREPEAT || RELATIVE -> told = granted_by :: else fi
       fi }
    /* said once more without need: the same total changes nothing */
    :: atomic { losses > 0 && told > WINDOW && nfull(words) -> losses--;
       words!session,(RELATIVE -> 1 : told) }
    :: settled == N -> break
    od
}

active proctype monitor()
{
    timeout -> assert(settled == N)               /* 2 */
}
