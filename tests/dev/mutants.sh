#!/usr/bin/env bash
#  faults planted one at a time in core and store; the simulator has to find each
#
#  A copy of the tree is built once; then each fault is one edit, one build of what it touches and a run of up to 4,000
#  seeds: ./dev mutants [SEEDS] [PART OF A NAME]. A fault that changes nothing (its line is gone), or does not compile, counts as failed.
#  With 0 seeds nothing is built: whether each fault still changes a line, which every test run asks.

set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
SEEDS=${1:-4000}
ONLY=${2:-}
JOBS=${ARGOS_JOBS:-$(nproc)}

#  name | file | sed expression

FAULTS=(
    "skip the lease test|actors/store/argos_store_commit.c|s/row\.lease != req->lease || strcmp (row\.holder, req->holder) != 0/false/"
    "skip the dedupe|actors/store/argos_store_commit.c|s/if (!self->failed \&\& !argos_store_changed (self)) {/if (false) {/"
    "answer before the commit|actors/store/argos_store.c|s/bool committing = !self->failed/bool committing = count > 1 \&\& !self->failed/"
    "accept at the door|broker/core/argos_commit.c|s/^        s_refer (session, item, headers);/        s_refer (session, item, headers); if (!item->seq) argos_core_word (session->core, session->conn, \"accepted\", header->id, \"{\\\\\"seq\\\\\":1}\");/"
    "lose an emit|actors/store/argos_store_commit.c|s/^        return argos_store_insert (self, unit);/        return unit->row ? true : argos_store_insert (self, unit);/"
    "skip the mail test|actors/store/argos_store_commit.c|s/if (req->done \&\& s_has_mail/if (false \&\& s_has_mail/"
    "reuse a lease number|actors/store/argos_store_open.c|s/self->last_lease = self->stored_lease = s_meta (self, \"lease\")/self->last_lease = self->stored_lease = s_meta (self, \"lease\") \/ 2/"
    "forget to reset n|actors/store/argos_store_sql.c|s/holder = ?3, n = 0,/holder = ?3,/; s/holder = NULL, n = 0,/holder = NULL,/"
    "hand out a lease that is not stored|actors/store/argos_store_sql.c|s/SET lease = ?2, holder = ?3,/SET lease = NULL, holder = NULL,/"
    "do not count the attempt|actors/store/argos_store_sql.c|s/\" attempt = attempt + 1 WHERE seq = ?1\"/\" attempt = max (attempt, 1) WHERE seq = ?1\"/"
    "lanes last in, first out|broker/core/argos_entry.c|s/while (behind \&\& behind->seq > entry->seq)/while (behind)/"
    "give a topic number again|actors/store/argos_store_topic.c|s/#define BOOT_SHIFT 32/#define BOOT_SHIFT 0/"
    "forget a done|actors/store/argos_store_sql.c|s/INSERT INTO finished (lease, seq,/INSERT INTO finished (seq, lease,/"
    "call a lease of an earlier number valid|actors/store/argos_store_lease.c|s/row\.lease == pair->lease/true/"
    "let an entry overtake a commit|broker/core/argos_reader.c|s/if (slot->state == SLOT_PENDING)/if (false)/"
    "do not show a side message|broker/core/argos_lane.c|s/if (!entry->side || entry->shown ||/if (entry->seq % 2 || !entry->side || entry->shown ||/"
    "let a side message overtake an older one|broker/core/argos_lease.c|s/if (lane->mailing || /if (/"
    "keep the slot of a lease that ended|broker/core/argos_lane.c|s/^        argos_service_free_slot (service, session);/        argos_service_dispatch (service);/"
    "let a set clock stop a lane|broker/core/argos_core.c|s/^    argos_entry_clock_set (self);//"
    "forget what was taken before it was due|broker/core/argos_lane.c|s/entry = argos_entry_find (service->later, gone\[i\]);/entry = NULL;/"
    "answer before the disk has it|actors/store/argos_store_connect.c|s/PRAGMA synchronous = FULL;/PRAGMA synchronous = OFF;/"
    "lose a message when the disk is full|actors/store/argos_store.c|s/argos_store_refuse (\*answer, code, argos_err_text (code));/(*answer)->seq = 1;/"
    "do not expect|actors/store/argos_store_queue.c|s/s_unexpected (unit, \"the lane is full\")/true/"
    "expire under the holder|actors/store/argos_store_lease.c|s/if (!row\.lease \&\& row\.side \&\&/if (false \&\& row.side \&\&/"
    "send a dead letter again and keep it|actors/store/argos_store_queue.c|s/^    argos_store_run (self, ARGOS_SQL_DEAD_DROP, \"i\", seq);/    (void) seq;/"
    "forget the deadline of a request|broker/core/argos_request.c|s/^        s_refuse (request, ARGOS_EXPIRED, NULL);//"
    "answer a request twice|broker/core/argos_request.c|/TRACE_REPLIED/,/s_finish/s/^    s_finish (request);/    if (session->number % 2) s_finish (request);/"
    "give a message up in silence|actors/store/argos_store_lease.c|s/argos_store_bury (self, \&row, argos_err_name (ARGOS_EXPIRED), ans);/argos_store_run (self, ARGOS_SQL_ROW_DROP, \"i\", row.seq);/"
    "count more messages than there were|broker/core/argos_session.c|s/^    session->settled_messages++;/    session->settled_messages += 2;/"
)

#  split FAULT: its three parts in name, file and expression
split () {
    IFS='|' read -r name file expression <<<"${1//||/$'\x01'}"
    expression=${expression//$'\x01'/||}
}

if [ "$SEEDS" = 0 ]; then
    gone=0
    for fault in "${FAULTS[@]}"; do
        split "$fault"
        if sed "$expression" "$file" | cmp -s "$file" -; then
            echo "$name: $file has no line that this would change"
            gone=$((gone + 1))
        fi
    done
    echo "$((${#FAULTS[@]} - gone)) passed, $gone failed"
    exit $((gone > 0))
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/argos-mutants-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tree"
tar -c --exclude=./build --exclude=./.git --exclude=node_modules . | tar -x -C "$folder/tree"
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
cmake -S "$folder/tree" -B "$folder/build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DARGOS_BUGGIFY=ON >"$folder/log" 2>&1
if ! cmake --build "$folder/build" -j "$JOBS" --target argos-sim >"$folder/log" 2>&1; then
    tail -n 30 "$folder/log"
    echo "0 passed, 1 failed (the tree does not build)"
    exit 1
fi
if ! "$folder/build/argos-sim" --seeds "1-$SEEDS" >"$folder/out" 2>&1; then
    cat "$folder/out"
    echo "0 passed, 1 failed (the simulator objects without a fault)"
    exit 1
fi

passed=0
failed=0
say () { printf '%-40s %-38s %s\n' "$1" "$2" "$3"; }
say "fault" "file" "found"

for fault in "${FAULTS[@]}"; do
    split "$fault"
    if [[ $name != *$ONLY* ]]; then
        continue
    fi
    cp "$folder/tree/$file" "$folder/saved"
    sed -i "$expression" "$folder/tree/$file"
    verdict=
    if cmp -s "$folder/saved" "$folder/tree/$file"; then
        verdict="NO: the line to be changed is not there"
    elif ! cmake --build "$folder/build" -j "$JOBS" --target argos-sim >"$folder/log" 2>&1; then
        verdict="NO: it does not compile: $(grep -m 1 'error:' "$folder/log" | sed 's/.*error: //')"
    else
        status=0
        "$folder/build/argos-sim" --seeds "1-$SEEDS" >"$folder/out" 2>&1 || status=$?
        found=$(sed -nE 's/^WRONG: (seed [0-9]+) step [0-9]+ +[0-9]+ ms: /\1: /p' "$folder/out" | head -n 1)
        [ "$status" -ne 0 ] || verdict="NO: $SEEDS seeds are well"
    fi
    if [ -z "$verdict" ]; then
        passed=$((passed + 1))
        say "$name" "${file##*/}" "${found:-the process died (exit $status)}"
    else
        failed=$((failed + 1))
        say "$name" "${file##*/}" "$verdict"
    fi
    cp "$folder/saved" "$folder/tree/$file"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
