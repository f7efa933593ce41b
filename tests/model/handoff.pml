/* handoff.pml - a session goes on elsewhere, checked with spin: the terminal that asks, two watchers, the
 * row in the store, what is outside.
 * The row moves by compare-and-set on number, epoch and state. A watcher claims it, marks it as sent, has a
 * thread made (outside: not in a commit), and completes it in one commit with the routes, or gives up with
 * a sentence. It may die, or sleep past its lease, anywhere. The terminal calls a request off as long as nobody has claimed it, and
 * may ask again when one has failed. What is refused at the destination is taken back.
 * Properties:
 *   1 for one request at most one thread is made
 *   2 what was called off is not completed
 *   3 the route of the destination leads to the session exactly while the state is completed, and that of
 *     the terminal exactly while it is not
 *   4 each request ends (monitor: nothing waits for ever when nobody dies any more)
 * Planted faults, each of which has to be found: NOEPOCH a watcher compares the state only; BLINDFAIL the
 * terminal calls off whatever the state is; LATESENT the mark comes behind the thread; NOBACK what is
 * taken back leaves the routes; NOEXPIRE nobody looks after what was lost.
 */
#ifndef REQUESTS
#define REQUESTS 2
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef NOEPOCH
#define NOEPOCH 0
#endif
#ifndef BLINDFAIL
#define BLINDFAIL 0
#endif
#ifndef LATESENT
#define LATESENT 0
#endif
#ifndef NOBACK
#define NOBACK 0
#endif
#ifndef NOEXPIRE
#define NOEXPIRE 0
#endif

#define NONE 0
#define PENDING 1
#define RUNNING 2
#define COMPLETED 3
#define FAILED 4

byte number, state, epoch, claims, deaths = DEATHS;
bool sent, there, here = true, checked = true, over;
bool off[REQUESTS + 1];
byte threads[REQUESTS + 1];

/* For replay_handoff.py: what has changed, and the row as it is then */
#define T(what) printf("T %e|%d|%d|%d|%d|%d\n", what, number, state, epoch, claims, sent)
mtype = { ask, claim, marked, complete, give_up, expire, back, call_off };

inline agree() {
    assert((state == COMPLETED) == there && here == !there)
}

#define MINE (number == n && state == RUNNING && (epoch == e || NOEPOCH))

proctype watcher()
{
    byte n, e;
again:
    do
    :: over -> goto out
    :: atomic { state == PENDING && !over -> n = number; e = epoch }
       atomic {
           if
           :: number == n && state == PENDING && epoch == e ->
              state = RUNNING; epoch++; claims++; e = epoch; agree(); T(claim)
           :: else -> goto again
           fi
       }
       if
       :: LATESENT -> skip
       :: else ->
          atomic { if :: MINE -> sent = true; T(marked) :: else -> goto again fi }
       fi
       if
       :: atomic { deaths > 0 -> deaths--; goto again }
       :: skip
       fi
       atomic { threads[n]++; assert(threads[n] <= 1) }
       if
       :: LATESENT ->
          if
          :: atomic { deaths > 0 -> deaths--; goto again }
          :: atomic { if :: MINE -> sent = true; T(marked) :: else -> goto again fi }
          fi
       :: else -> skip
       fi
       if
       :: atomic { deaths > 0 -> deaths--; goto again }
       :: atomic {
              if
              :: MINE ->
                 assert(!off[n]);
                 state = COMPLETED; there = true; here = false; checked = false; agree(); T(complete)
              :: MINE -> state = FAILED; agree(); T(give_up)
              :: else -> skip
              fi
          }
       fi
    od;
out: skip
}

/* Leases that are over: at any time, also under a watcher that lives */
proctype sweep()
{
    do
    :: over -> break
    :: atomic { !NOEXPIRE && state == RUNNING && !over ->
           epoch++;
           if :: sent || claims > 1 -> state = FAILED :: else -> state = PENDING fi;
           agree(); T(expire) }
    od
}

/* What became of the first answer there */
proctype check()
{
    do
    :: over -> break
    :: atomic { !checked -> checked = true;
           if
           :: skip
           :: state == COMPLETED ->
              state = FAILED;
              if :: NOBACK -> skip :: else -> there = false; here = true fi;
              agree(); T(back)
           fi }
    od
}

proctype terminal()
{
    do
    :: number == REQUESTS -> break
    :: atomic { number < REQUESTS && (state == NONE || state == FAILED) && checked ->
           number++; state = PENDING; epoch = 0; claims = 0; sent = false; T(ask) }
       if
       :: state == COMPLETED -> break
       :: state == FAILED -> skip
       :: atomic { state == PENDING || (BLINDFAIL && state == RUNNING) || (BLINDFAIL && state == COMPLETED) ->
              off[number] = true; state = FAILED; agree(); T(call_off) }
       fi
    od;
    (state == COMPLETED || state == FAILED) && checked;
    over = true
}

proctype monitor()
{
    timeout;
    assert(over)
}

init {
    atomic { run watcher(); run watcher(); run sweep(); run check(); run terminal(); run monitor() }
}
