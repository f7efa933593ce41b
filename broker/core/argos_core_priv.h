//  argos_core_priv - the functions that the files of broker/core share, by the file that has them.
//
//  All of them run in the one thread of the core, on a core that lives; none blocks.

#ifndef ARGOS_CORE_PRIV_H
#define ARGOS_CORE_PRIV_H

#include "argos_core_state.h"

//  argos_core.c
//  The body of a word of the broker, checked by its schema; new. NULL when it has been refused.
json_t *argos_core_body (
    argos_core_t *self, uint64_t conn, const argos_header_t *header, const argos_frame_t *frame);
void argos_core_word (
    argos_core_t *self, uint64_t conn, const char *type, const char *re, const char *body);
void argos_core_word_on (argos_core_t *self, uint64_t conn, const char *type, const char *re,
    int64_t seq, int64_t lease, const char *body);
void argos_core_refuse (argos_core_t *self, uint64_t conn, const char *re, argos_err_t code,
    const char *reason, int part, bool sent);
int argos_core_put (argos_core_t *self, uint64_t conn, argos_frame_t *header, const char *meta,
    size_t meta_size, argos_frame_t *body);
//  The session behind a connection, NULL = none.
session_t *argos_core_session (argos_core_t *self, uint64_t conn);
int64_t argos_core_bytes (argos_frame_t **frames, size_t count);
void argos_core_count_in (argos_core_t *self, session_t *session, int64_t bytes);
const char *argos_core_intern (argos_core_t *self, const char *type);
void argos_core_forget_type (argos_core_t *self, const char *type);

//  argos_hello.c
void argos_hello (argos_core_t *self, uint64_t conn, const argos_who_t *who,
    const argos_header_t *header, argos_frame_t *body);
void argos_hello_recheck (argos_core_t *self);
void argos_hello_stored (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);

//  argos_session.c
session_t *argos_session_find (argos_core_t *self, uint64_t number);
session_t *argos_session_named (argos_core_t *self, const char *name);
//  That, or any instance of that name on any node
session_t *argos_session_instance (argos_core_t *self, const char *name);
void argos_session_end (session_t **session_p, int strikes);
void argos_session_watch (session_t *session);
void argos_session_heard (session_t *session);
void argos_session_settle (session_t *session, int64_t bytes);
void argos_session_grant (session_t *session);
void argos_session_tell_grant (session_t *session);
void argos_session_wake (session_t *session);
bool argos_session_may_send (
    const session_t *session, argos_to_t to, const char *name, const argos_header_t *header);
bool argos_session_any_topic (const session_t *session);
bool argos_session_may_say (
    const session_t *session, const argos_header_t *header, const argos_frame_t *body);
bool argos_session_may_serve (const session_t *session, const char *service);
bool argos_session_may_read (const session_t *session, const char *topic, bool pattern);
void argos_session_cut (session_t *session, cut_t why, int strikes);

//  The connection is closed a moment later, so that what it was told is written before; and one of
//  these is forgotten.
void argos_session_close_soon (argos_core_t *self, uint64_t conn);
void argos_session_closing_free (argos_core_t *self, struct closing *closing);
session_t *argos_session_new (argos_core_t *core, uint64_t conn, const char *name);
void argos_session_free (session_t *session);

//  argos_service.c
service_t *argos_service_find (argos_core_t *self, const char *name);
service_t *argos_service_declare (argos_core_t *self, const char *name, bool stored);
void argos_service_serve (session_t *session, const argos_header_t *header, argos_frame_t *body);
void argos_service_dispatch (service_t *service);
worker_t *argos_service_worker (service_t *service, session_t *session);
worker_t *argos_service_pick (service_t *service, const char *key, const char *type);
void argos_service_leave (session_t *session);
void argos_service_free_slot (service_t *service, uint64_t session);
void argos_service_woken (session_t *session);
bool argos_service_lighter (const worker_t *worker, const worker_t *other);
void argos_service_forget (service_t *service, const char *key);
void argos_service_pause (session_t *session, const argos_header_t *header, const json_t *body);
void argos_service_drop (session_t *session, const argos_header_t *header, const json_t *body);
void argos_service_changed (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans);

//  argos_limit.c
void argos_limit_service (service_t *service);
void argos_limit_add (entry_t *entry, const char *base);
void argos_limit_remove (entry_t *entry);
sender_t *argos_limit_sender (argos_core_t *self, const char *base);
const char *argos_limit_refuses (
    session_t *session, const service_t *service, const char *key, bool urgent, int64_t bytes);
bool argos_limit_soft (const argos_core_limit_t *limit, int64_t messages, int64_t bytes);

//  argos_drain.c
void argos_drain_order (session_t *session, const argos_header_t *header, const json_t *body);
bool argos_drain_holds (argos_core_t *self, const char *name);
void argos_drain_free (argos_core_t *self);

//  argos_penalty.c
#define COST_WORD 1    //  A word that counts in no window
#define COST_NONE 48   //  What is no message
#define COST_HELLO 480 //  Each is a commit
bool argos_penalty_charge (session_t *session, int cost);
noise_t argos_penalty_of (argos_core_t *self, uint64_t conn);
void argos_penalty_begin (argos_core_t *self, const char *name);
bool argos_penalty_holds (const argos_core_t *self, const char *name);

//  argos_slow.c
void argos_slow_begin (session_t *session, bool owed);
void argos_slow_end (session_t *session);
void argos_slow_over (session_t *session);

//  argos_request.c
void argos_request_new (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_request_reply (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_request_dispatch (service_t *service);
void argos_request_alone (service_t *service);
void argos_request_leave (session_t *session);
void argos_request_free (request_t *request);

//  argos_entry.c
entry_t *argos_entry_insert (service_t *service, const char *key, const argos_storage_row_t *row);
void argos_entry_rows (argos_core_t *self, const argos_storage_ans_t *ans);
entry_t *argos_entry_find (entry_t *entries, int64_t seq);
void argos_entry_end (entry_t *entry);
//  The wall clock was set: what waits for a time of it waits anew.
void argos_entry_clock_set (argos_core_t *self);

//  argos_lane.c
lane_t *argos_lane_get (service_t *service, const char *key);
lane_t *argos_lane_find (const service_t *service, const char *key);
void argos_lane_leased (lane_t *lane, int64_t seq, int64_t lease, uint64_t session);
void argos_lane_freed (lane_t *lane, int strikes);
void argos_lane_consume (lane_t *lane, const int64_t *gone, size_t count);
void argos_lane_settle (lane_t *lane);
void argos_lane_park (lane_t *lane, int64_t until_mono);
void argos_lane_alone (lane_t *lane);
void argos_lane_not_alone (lane_t *lane);
bool argos_lane_hold_back (lane_t *lane);
bool argos_lane_may_show (const lane_t *lane);
void argos_lane_show (lane_t *lane);
void argos_lane_unshow (lane_t *lane, int64_t seq);
void argos_lane_unlink (lane_t *lane);
lane_t *argos_lane_of_head (argos_core_t *self, int64_t seq);
void argos_lane_lost (lane_t *lane);
void argos_lane_adopt (lane_t *lane, uint64_t session);

//  argos_lease.c
void argos_lease_ask (lane_t *lane, worker_t *worker);
void argos_lease_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_lease_send (lane_t *lane, const char *from, int64_t attempt, int64_t hops, int64_t at,
    const char *cause, argos_frame_t *header, argos_frame_t *body);
void argos_lease_given_back (session_t *session, const argos_header_t *header, argos_frame_t *body);
void argos_lease_give_back (argos_core_t *self, lane_t *lane, int strikes, bool clean);
void argos_lease_end (lane_t *lane);
void argos_lease_released (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_lease_mail (lane_t *lane, entry_t *entry);
void argos_lease_mail_now (entry_t *entry, const char *from, int64_t hops, const char *cause,
    int64_t at, argos_frame_t *header, argos_frame_t *body);
void argos_lease_mailed (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_lease_expire (entry_t *entry);

//  argos_commit.c
bool argos_commit_new (
    session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count);
void argos_commit_stored (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans);

//  argos_intake.c
void argos_intake_unreserve (part_t *part);
void argos_intake_drop_part (part_t *part);
item_t *argos_intake_item (argos_core_t *self, argos_storage_op_t op, size_t part_count);
bool argos_intake_read (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_intake_queue (session_t *session, item_t *item);
void argos_intake_pump (argos_core_t *self);
void argos_intake_back (argos_core_t *self, const item_t *item);
void argos_intake_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_intake_forget (session_t *session);
void argos_intake_free (item_t *item);

//  argos_topic.c
#define ARGOS_TOPICS_FULL "too many topics are open: at most 4096 of a peer, 65536 of all"
topic_t *argos_topic_get (argos_core_t *self, const char *name);
//  Whether the session may publish to it as far as the number of topics goes.
bool argos_topic_may_make (const session_t *session, const char *name);
ring_entry_t *argos_topic_append (topic_t *topic, session_t *session, const argos_header_t *header,
    argos_frame_t *head, argos_frame_t *body);
void argos_topic_publish (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_topic_settled (
    topic_t *topic, ring_entry_t *slot, bool stored, int64_t number, const char *owner);
void argos_topic_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_topic_look (topic_t *topic);
bool argos_topic_known (const topic_t *topic);
int64_t argos_topic_ring_first (const topic_t *topic);
int64_t argos_topic_newest (const topic_t *topic);
void argos_topic_maybe_free (topic_t *topic);
void argos_topic_free (topic_t *topic);

//  argos_reader.c
subscription_t *argos_reader_new (session_t *session, topic_t *topic, pattern_t *pattern);
void argos_reader_drop (subscription_t *sub); //  The topic stays
void argos_reader_free (subscription_t *sub); //  The topic may go
void argos_reader_pump (subscription_t *sub);
void argos_reader_pump_all (topic_t *topic);
void argos_reader_end_all (topic_t *topic);
void argos_reader_say_end (const session_t *session, const char *id, int64_t newest, bool closed);
void argos_reader_paged (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_reader_credit (session_t *session);

//  argos_subscribe.c
void argos_subscribe_begin (session_t *session, const argos_header_t *header, argos_frame_t *body);
void argos_subscribe_end (session_t *session, const argos_header_t *header);
void argos_subscribe_join (topic_t *topic);
void argos_subscribe_part (topic_t *topic);
void argos_subscribe_leave (session_t *session);
void argos_subscribe_free_pattern (pattern_t *pattern);

//  argos_admin.c
void argos_admin_request (
    session_t *session, const argos_header_t *header, const argos_frame_t *frame);

void argos_admin_done (session_t *session, const char *id);

//  argos_stats.c
void argos_stats_note (argos_core_t *self, argos_trace_note_t note);
//  Counts up the member `leases` of each of the objects by how many its session holds; peers has
//  them by name.
void argos_stats_leases (argos_core_t *self, json_t *peers);
int32_t argos_stats_tick (const argos_core_t *self, int64_t wall);
json_t *argos_stats_answer (session_t *session, json_t *asked);
json_t *argos_stats_trace (session_t *session, json_t *asked);

//  argos_snapshot.c
json_t *argos_snapshot_answer (session_t *session, json_t *asked);

//  argos_status.c
json_t *argos_status_answer (session_t *session, json_t *asked);

#endif
