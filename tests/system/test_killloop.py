"""The kill loop, short; the whole of it is ./dev killloop."""
import random

import killloop

KILLS = 12


def test_nothing_is_lost_and_nothing_is_done_twice(capsys):
    with capsys.disabled():
        print()
        killloop.main(KILLS, random.randrange(1 << 32))
