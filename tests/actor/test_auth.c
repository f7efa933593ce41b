//  test_auth - the auth actor: who gets in over tcp, what the broker is told, and that nobody new
//  gets in when it is gone.
//
//  Invariant: real store, auth and broker actors in this process, a real tcp port, plain sockets of
//  libzmq as peers.

#include "argos_actor.h"
#include "argos_auth_actor.h"
#include "argos_broker_actor.h"
#include "argos_keys.h"
#include "argos_peer.h"
#include "argos_schema.h"
#include "argos_store_actor.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#define WAIT_MS 15000   //  Longest wait for what has to come
#define BODY_MAX 4096   //  Bytes of a body that is looked at
#define REVOKED_MS 1000 //  Within this a revoked key is out
#define RENEW_MS 100    //  The auth actor's socket is another one so soon; longer than a handshake
#define DEAF_MS 400     //  Patience with what must not come
#define HELLO_MS 3000   //  Patience with an answer to a hello, before another connection is made

static zactor_t *s_store, *s_auth, *s_broker;
static char s_folder[] = "/tmp/argos-test-XXXXXX";
static char s_keys[64], s_endpoint[64], s_path[64], s_reason[512];
static argos_key_t s_server, s_good;

static int
s_free_port (void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (fd >= 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &address, size), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &address, &size), 0);
    close (fd);
    return ntohs (address.sin_port);
}

static void
s_make_key (const char *name, const char *role, argos_key_t *ret_key)
{
    char path[256];
    argos_keys_new_t wanted = { .name = name, .role = role, .now = 1 };
    int rc = argos_keys_make (s_folder, &wanted, path, sizeof path, s_reason, sizeof s_reason);
    assert_int_equal (rc, 0);
    assert_int_equal (argos_key_read (ret_key, path, s_reason, sizeof s_reason), 0);
}

static zactor_t *
s_start_broker (const char *auth, const argos_key_t *server)
{
    const char *const bind[] = { s_endpoint, NULL };
    argos_broker_config_t config = { .bind = bind, .auth = auth, .server = server };
    argos_core_config_init (&config.core);
    return argos_actor_start ("broker", argos_broker_actor, &config);
}

static int
s_set_up (void **state)
{
    (void) state;
    if (!mkdtemp (s_folder) || argos_keys_server (s_folder, &s_server, s_reason, 512) != 0)
        return -1;
    snprintf (s_path, sizeof s_path, "%s/argos.db", s_folder);
    snprintf (s_keys, sizeof s_keys, "%s/keys", s_folder);
    snprintf (s_endpoint, sizeof s_endpoint, "tcp://127.0.0.1:%d", s_free_port ());
    argos_store_actor_config_t store = {
        .path = s_path, .endpoint = ARGOS_STORE_INPROC, .reason = s_reason
    };
    argos_auth_config_t auth = { s_keys, RENEW_MS };
    s_store = argos_actor_start ("store", argos_store_actor, &store);
    s_auth = argos_actor_start ("auth", argos_auth_actor, &auth);
    if (!s_store || !s_auth || !(s_broker = s_start_broker (ARGOS_AUTH_INPROC, &s_server)))
        return -1;
    s_make_key ("good", "client", &s_good);
    return 0;
}

static int
s_tear_down (void **state)
{
    (void) state;
    argos_actor_stop (&s_broker, 5000);
    if (s_auth)
        argos_actor_stop (&s_auth, 5000);
    argos_actor_stop (&s_store, 5000);
    zdir_t *folder = zdir_new (s_folder, NULL);
    zdir_remove (folder, true);
    zdir_destroy (&folder);
    return 0;
}

static void
s_say (void *socket, const char *header, const char *body)
{
    zmq_send (socket, "AR1", 3, ZMQ_SNDMORE);
    zmq_send (socket, header, strlen (header), ZMQ_SNDMORE);
    zmq_send (socket, "", 0, ZMQ_SNDMORE);
    zmq_send (socket, body, strlen (body), 0);
}

//  A socket that says hello; key NULL = without CURVE.

static void *
s_connect (const argos_key_t *key, const char *name)
{
    char body[128];
    int none = 0;
    void *socket = zmq_socket (zsys_init (), ZMQ_DEALER);
    assert_non_null (socket);
    zmq_setsockopt (socket, ZMQ_LINGER, &none, sizeof none);
    if (key) {
        zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, s_server.public_key, 41);
        zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, key->public_key, 41);
        zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, key->secret_key, 41);
    }
    assert_int_equal (zmq_connect (socket, s_endpoint), 0);
    snprintf (body, sizeof body, "{\"name\":\"%s\",\"instance\":1,\"protocol\":1}", name);
    s_say (socket, "{\"type\":\"hello\",\"id\":\"h\"}", body);
    return socket;
}

static const char *s_hear (void *socket, int wait_ms, char body[static BODY_MAX]);

//  A socket that has been let in. libzmq never comes again when its key was not known yet, and one
//  that is cut loses its hello: a peer makes another socket then, as here.

static void *
s_come_in (const argos_key_t *key, const char *name)
{
    char body[BODY_MAX];
    for (int64_t end = zclock_mono () + WAIT_MS; zclock_mono () < end;) {
        void *socket = s_connect (key, name);
        const char *heard = s_hear (socket, HELLO_MS, body);
        if (*heard) {
            assert_string_equal (heard, "welcome");
            return socket;
        }
        zmq_close (socket);
    }
    fail_msg ("%s is not let in", name);
    return NULL;
}

//  The type of the next message but credit, which comes when enough has been said, "" when none
//  comes in time; its body goes to body.

static const char *
s_hear (void *socket, int wait_ms, char body[static BODY_MAX])
{
    static char type[64];
    zmq_setsockopt (socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    do {
        char header[512] = "", magic[4];
        *body = *type = 0;
        if (zmq_recv (socket, magic, sizeof magic, 0) < 0)
            return type;
        int size = zmq_recv (socket, header, sizeof header - 1, 0);
        assert_true (size > 0);
        header[size] = 0;
        zmq_recv (socket, body, BODY_MAX - 1, 0);
        size = zmq_recv (socket, body, BODY_MAX - 1, 0);
        body[size < 0 ? 0 : size > BODY_MAX - 1 ? BODY_MAX - 1 : size] = 0;
        const char *start = strstr (header, "\"type\":\"");
        assert_non_null (start);
        snprintf (type, sizeof type, "%.*s", (int) strcspn (start + 8, "\""), start + 8);
    } while (streq (type, "credit"));
    return type;
}

static void
test_a_known_key_comes_in_under_its_name_only (void **state)
{
    (void) state;
    char body[BODY_MAX];
    void *socket = s_come_in (&s_good, "good.2");
    zmq_close (socket);
    socket = s_connect (&s_good, "other");
    assert_string_equal (s_hear (socket, WAIT_MS, body), "refused");
    assert_non_null (strstr (body, "denied"));
    zmq_close (socket);
}

//  Each meets the auth actor in another state of its renewal. Without the old socket being heard to
//  its end some would wait for the limit of a handshake, 5 s each. Who comes in the moment without
//  a socket is let in by libzmq and thrown out by the broker, so its hello is lost: that is rare,
//  and it comes again.

static void
test_handshakes_go_on_while_the_socket_is_renewed (void **state)
{
    (void) state;
    char body[BODY_MAX];
    int lost = 0;
    for (int i = 0; i < 60; i++) {
        void *socket = s_connect (&s_good, "good.renewed");
        const char *heard = s_hear (socket, WAIT_MS, body);
        if (*heard) {
            assert_string_equal (heard, "welcome");
            s_say (socket, "{\"type\":\"bye\"}", "");
        }
        else
            assert_in_range (++lost, 1, 2);
        zmq_close (socket);
    }
}

static void
test_strangers_get_nothing (void **state)
{
    (void) state;
    char body[BODY_MAX];
    argos_key_t stranger = { .name = "x" };
    zmq_curve_keypair (stranger.public_key, stranger.secret_key);
    void *unknown = s_connect (&stranger, "good"), *plain = s_connect (NULL, "good");
    assert_string_equal (s_hear (unknown, DEAF_MS, body), "");
    assert_string_equal (s_hear (plain, DEAF_MS, body), "");
    zmq_close (unknown);
    zmq_close (plain);
}

static void
test_a_key_that_is_made_and_revoked_counts_at_once (void **state)
{
    (void) state;
    char body[BODY_MAX];
    argos_key_t late;
    s_make_key ("late", "client", &late);
    void *socket = s_come_in (&late, "late"), *watcher = s_come_in (&s_good, "good");
    int64_t start = zclock_mono ();
    assert_int_equal (argos_keys_revoke (s_folder, "late", 2, s_reason, sizeof s_reason), 0);
    do {
        s_say (watcher, "{\"type\":\"broker.status\",\"id\":\"s\",\"to\":\"actor:broker\"}", "{}");
        assert_string_equal (s_hear (watcher, WAIT_MS, body), "broker.status.result");
        assert_true (zclock_mono () - start < REVOKED_MS);
    } while (strstr (body, "\"late\""));
    zmq_close (watcher);
    //  Its connection is cut: what it says is not even answered
    s_say (socket, "{\"type\":\"ping\",\"id\":\"p\"}", "");
    assert_string_not_equal (s_hear (socket, DEAF_MS, body), "pong");
    zmq_close (socket);
    socket = s_connect (&late, "late");
    assert_string_equal (s_hear (socket, DEAF_MS, body), "");
    zmq_close (socket);
}

static void
test_names_and_keys_are_not_used_twice (void **state)
{
    (void) state;
    char path[256];
    argos_keys_new_t wanted = { .name = "late", .role = "client", .now = 3 };
    int rc = argos_keys_make (s_folder, &wanted, path, sizeof path, s_reason, sizeof s_reason);
    assert_int_equal (rc, -1);
    assert_non_null (strstr (s_reason, "take another"));
    static const char *const ours[] = { "cmd", "cli", "store", "gateway.1", "server", "operator" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        wanted.name = ours[i]; //  It would shut out who bears that name
        rc = argos_keys_make (s_folder, &wanted, path, sizeof path, s_reason, sizeof s_reason);
        assert_int_equal (rc, -1);
    }
    static const char *const platforms[] = { "x", "1x", "_a", "a-b", "Line",
        "a23456789_123456789_123456789_123" };
    wanted.name = "other";
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        wanted.platform = platforms[i]; //  No message may name it
        rc = argos_keys_make (s_folder, &wanted, path, sizeof path, s_reason, sizeof s_reason);
        assert_int_equal (rc, -1);
        assert_string_equal (s_reason, "a platform has 2 to 32 of a-z 0-9 _, a letter first");
    }
    assert_int_equal (argos_keys_revoke (s_folder, "late", 4, s_reason, sizeof s_reason), 0);
    assert_int_equal (argos_keys_revoke (s_folder, "never", 4, s_reason, sizeof s_reason), -1);
    json_t *list = argos_keys_list (s_folder, s_reason, sizeof s_reason);
    assert_int_equal (json_array_size (list), 2);
    json_t *key = json_array_get (list, 1);
    assert_string_equal (json_string_value (json_object_get (key, "name")), "late");
    assert_int_equal (json_integer_value (json_object_get (key, "revoked_at")), 2);
    json_decref (list);
    struct stat info;
    snprintf (path, sizeof path, "%s/late.key", s_keys);
    assert_int_not_equal (stat (path, &info), 0);
    snprintf (path, sizeof path, "%s/good.key", s_keys);
    assert_int_equal (stat (path, &info), 0);
    assert_int_equal (info.st_mode & 0777, 0600);
    assert_int_equal (stat (s_keys, &info), 0);
    assert_int_equal (info.st_mode & 0777, 0700);
}

static void
test_bad_files_let_nobody_in (void **state)
{
    (void) state;
    char path[256], body[BODY_MAX];
    argos_key_t open_to_all;
    s_make_key ("open", "client", &open_to_all);
    snprintf (path, sizeof path, "%s/open.pub", s_keys);
    assert_int_equal (chmod (path, 0666), 0); //  Others can change it
    FILE *file = fopen (path, "a");
    assert_non_null (file);
    fclose (file); //  The folder has an event after the change of the mode
    for (int64_t end = zclock_mono () + WAIT_MS; zclock_mono () < end;) {
        void *socket = s_connect (&open_to_all, "open");
        bool heard = *s_hear (socket, DEAF_MS, body) && strstr (body, "lease_ms");
        zmq_close (socket);
        if (!heard)
            return;
    }
    fail_msg ("a record that others can change lets in");
}

static void
test_tcp_needs_auth_and_a_server_key (void **state)
{
    (void) state;
    assert_null (s_start_broker (NULL, &s_server));
    assert_null (s_start_broker (ARGOS_AUTH_INPROC, NULL));
}

static void
test_without_the_auth_actor_nobody_new_gets_in (void **state)
{
    (void) state;
    char body[BODY_MAX];
    argos_key_t stranger = { .name = "x" };
    zmq_curve_keypair (stranger.public_key, stranger.secret_key);
    void *old = s_come_in (&s_good, "good");
    assert_int_equal (argos_actor_stop (&s_auth, 5000), 0);
    s_auth = NULL;
    //  libzmq would take both in now; the broker hears no name with them
    void *known = s_connect (&s_good, "good"), *unknown = s_connect (&stranger, "good");
    assert_string_equal (s_hear (known, DEAF_MS, body), "");
    assert_string_equal (s_hear (unknown, DEAF_MS, body), "");
    zmq_close (known);
    zmq_close (unknown);
    //  Who was in before goes on
    s_say (old, "{\"type\":\"ping\",\"id\":\"p\"}", "");
    assert_string_equal (s_hear (old, WAIT_MS, body), "pong");
    zmq_close (old);
}

int
main (void)
{
    char reason[256];
    zsys_handler_set (NULL);
    if (argos_schema_init (reason) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_a_known_key_comes_in_under_its_name_only),
        cmocka_unit_test (test_handshakes_go_on_while_the_socket_is_renewed),
        cmocka_unit_test (test_strangers_get_nothing),
        cmocka_unit_test (test_a_key_that_is_made_and_revoked_counts_at_once),
        cmocka_unit_test (test_names_and_keys_are_not_used_twice),
        cmocka_unit_test (test_bad_files_let_nobody_in),
        cmocka_unit_test (test_tcp_needs_auth_and_a_server_key),
        cmocka_unit_test (test_without_the_auth_actor_nobody_new_gets_in),
    };
    int rc = cmocka_run_group_tests (tests, s_set_up, s_tear_down);
    if (rc != 0)
        _exit (1); //  A test that failed has left its sockets open, and the context would wait
    zsys_shutdown ();
    argos_schema_term ();
    return rc;
}
