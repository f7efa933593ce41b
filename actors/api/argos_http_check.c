//  argos_http_check - may this request go on? Framing, origin, route, key: in that order, each
//  answers when not.
//
//  The server library takes several forms of a request that two programs may read in two ways
//  (request smuggling); what is ambiguous is refused here and the connection closed.

#include "argos_http_priv.h"
#include "argos_log.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define S_ROW 64          //  Bytes that the server library keeps for a header
#define S_ANSWER 2048     //  Bytes of the head of any answer
#define S_ANSWER_MIN 1024 //  Of one that refuses, with all that is fixed
#define S_ANSWER_BARE 512 //  Of one that refuses, with nothing else

//  --------------------------------------------------------------------------
//  Framing

//  What may be there once only: of two, another program might take the other one

enum { S_LENGTH, S_CODING, S_SINGLES = 10 };

static const char *const s_singles[S_SINGLES] = {
    [S_LENGTH] = MHD_HTTP_HEADER_CONTENT_LENGTH,
    [S_CODING] = MHD_HTTP_HEADER_TRANSFER_ENCODING,
    MHD_HTTP_HEADER_HOST,
    MHD_HTTP_HEADER_AUTHORIZATION,
    MHD_HTTP_HEADER_ORIGIN,
    "Idempotency-Key",
    "X-Hermes-Session-Id",
    "X-Hermes-Session-Key",
    "X-Argos-Session-Id",
    "X-Argos-Session-Key",
};

typedef struct {
    unsigned count;              //  Headers
    unsigned singles[S_SINGLES]; //  Those of these names
    size_t cookies;              //  Bytes of cookies
    const char *end;             //  Where the next line has to begin, NULL = the first
    bool bad;                    //  Something ambiguous
} s_framing_t;

//  Lines as they were received: the library has put NULs in the place of their ends, and where two
//  lines were made one (obs-fold), a NUL was sent, or an end was no CR LF, the next one does not
//  begin two bytes behind the value. (libmicrohttpd 0.9.75 and its like; test_api_hardening.py
//  would see another layout.)

static void
s_check_line (s_framing_t *framing, const char *name, const char *value, size_t value_size)
{
    framing->bad = framing->bad || (framing->end && framing->end != name);
    const char *end = value + value_size;
    while (*end == ' ' || *end == '\t')
        end++;
    framing->bad = framing->bad || end[0] != 0 || end[1] != 0;
    framing->end = end + 2;
}

//  A header that may be there once only.

static void
s_check_single (s_framing_t *framing, size_t single, const char *value, size_t size)
{
    framing->bad = framing->bad || ++framing->singles[single] > 1;
    if (single == S_LENGTH)
        framing->bad =
            framing->bad || size == 0 || size > 18 || strspn (value, "0123456789") != size;
    if (single == S_CODING)
        framing->bad = framing->bad || strcasecmp (value, "chunked") != 0;
}

static enum MHD_Result
s_framing_header (void *cls, enum MHD_ValueKind kind, const char *name, size_t name_size,
    const char *value, size_t value_size)
{
    s_framing_t *framing = cls;
    (void) kind;
    framing->count++;
    framing->bad = framing->bad || name_size == 0 || !value;
    if (framing->bad)
        return MHD_YES;
    for (size_t i = 0; i < name_size; i++)
        framing->bad = framing->bad || (unsigned char) name[i] <= 32 || name[i] == 127;
    for (size_t i = 0; i < value_size; i++)
        framing->bad =
            framing->bad || ((unsigned char) value[i] < 32 && value[i] != '\t') || value[i] == 127;
    s_check_line (framing, name, value, value_size);
    for (size_t i = 0; i < S_SINGLES; i++)
        if (strcasecmp (name, s_singles[i]) == 0)
            s_check_single (framing, i, value, value_size);
    if (strcasecmp (name, MHD_HTTP_HEADER_COOKIE) == 0)
        framing->cookies += value_size;
    return MHD_YES;
}

static bool
s_is_token (const char *method)
{
    size_t size = strlen (method);
    return size && strspn (method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == size;
}

//  Whether the memory of the connection still holds an answer: the server library keeps the head
//  there from its first byte (the method), a row for each header, argument and cookie, and a copy
//  of the cookies; it closes without a word when the head of the answer finds no place beside them.

static bool
s_has_room (argos_http_req_t *req, const s_framing_t *framing, const char *method)
{
    size_t rows = framing->count;
    rows += (size_t) MHD_get_connection_values (
        req->connection, MHD_GET_ARGUMENT_KIND | MHD_COOKIE_KIND, NULL, NULL);
    size_t used = framing->end ? (size_t) (framing->end - method) : 0;
    used += rows * S_ROW + framing->cookies;
    req->bare = used > ARGOS_HTTP_POOL - S_ANSWER_MIN;
    req->cramped = used > ARGOS_HTTP_POOL - S_ANSWER_BARE;
    return used <= ARGOS_HTTP_POOL - S_ANSWER;
}

//  Refuses the head, and closes.

static bool
s_refuse (argos_http_req_t *req, unsigned status, const char *code, const char *message)
{
    argos_http_conn_t *conn = argos_http_conn_of (req->connection);
    if (req->cramped && conn && !req->http->tls) {
        argos_http_refuse (conn, status, code, message);
        req->answered = true;
        return false;
    }
    argos_http_set (req, MHD_HTTP_HEADER_CONNECTION, "close");
    argos_http_error (req, status, "invalid_request_error", code, NULL, message);
    return false;
}

bool
argos_http_check_framing (argos_http_req_t *req, const char *method, const char *version)
{
    s_framing_t framing = { 0 };
    (void) MHD_get_connection_values_n (
        req->connection, MHD_HEADER_KIND, s_framing_header, &framing);
    bool http11 = strcmp (version, MHD_HTTP_VERSION_1_1) == 0;
    req->http10 = strcmp (version, MHD_HTTP_VERSION_1_0) == 0;
    bool room = s_has_room (req, &framing, method);
    unsigned codings = framing.singles[S_CODING], lengths = framing.singles[S_LENGTH];
    bool good = !framing.bad && s_is_token (method) && lengths + codings <= 1 &&
                (http11 || (req->http10 && !codings));
    if (!good)
        return s_refuse (req, 400, lengths ? "invalid_content_length" : NULL,
            "The head of the request is malformed or ambiguous.");
    if (req->too_long)
        return s_refuse (req, 414, "target_too_long",
            "The path with its query is longer than 4096 bytes, or has more than 32 arguments.");
    return room || s_refuse (req, 431, ARGOS_HTTP_TOO_LARGE);
}

//  --------------------------------------------------------------------------
//  Origin

//  The x-stainless-* names that a browser's SDK asks for, so that a preflight lets them pass.

static void
s_allow_headers (argos_http_req_t *req)
{
    char allowed[512] = "Authorization, Content-Type, Idempotency-Key, X-Hermes-Session-Id, "
                        "X-Hermes-Session-Key, X-Hermes-Tool-Events, X-Argos-Session-Id, "
                        "X-Argos-Session-Key, X-Argos-Tool-Events, Last-Event-ID, Accept";
    const char *asked = argos_http_header (req, MHD_HTTP_HEADER_ACCESS_CONTROL_REQUEST_HEADERS);
    size_t used = strlen (allowed);
    while (asked && *asked) {
        asked += strspn (asked, ", \t");
        size_t size = strcspn (asked, ", \t");
        bool stainless =
            size > 12 && strncasecmp (asked, "x-stainless-", 12) == 0 &&
            strspn (asked, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") >=
                size;
        if (stainless && used + size + 3 < sizeof allowed) {
            memcpy (allowed + used, ", ", 2);
            memcpy (allowed + used + 2, asked, size);
            used += size + 2;
            allowed[used] = 0;
        }
        asked += size;
    }
    argos_http_set (req, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS, allowed);
}

bool
argos_http_check_origin (argos_http_req_t *req, const char *method)
{
    const char *origin = argos_http_header (req, MHD_HTTP_HEADER_ORIGIN);
    bool options = strcmp (method, MHD_HTTP_METHOD_OPTIONS) == 0;
    bool allowed = !origin;
    for (char **each = req->http->origins; origin && each && *each; each++)
        if (strcmp (*each, "*") == 0 || strcmp (*each, origin) == 0) {
            req->origin = strcmp (*each, "*") == 0 ? *each : origin;
            allowed = true;
        }
    if (!allowed || (options && !origin)) {
        argos_http_json (req, 403, NULL);
        return false;
    }
    if (options) {
        argos_http_set (
            req, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE, OPTIONS");
        argos_http_set (req, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "600");
        s_allow_headers (req);
        argos_http_json (req, 200, NULL);
        return false;
    }
    return true;
}

//  --------------------------------------------------------------------------
//  Route

bool
argos_http_check_route (argos_http_req_t *req, const char *method)
{
    char allow[64] = "";
    for (const argos_http_route_t *route = req->http->routes; req->path && route->method; route++) {
        if (strcmp (route->path, req->path) != 0)
            continue;
        bool head = !route->scopes && strcmp (method, MHD_HTTP_METHOD_HEAD) == 0;
        if (strcmp (route->method, head ? MHD_HTTP_METHOD_GET : method) == 0) {
            req->route = route;
            return true;
        }
        size_t used = strlen (allow);
        (void) snprintf (
            allow + used, sizeof allow - used, "%s%s", used ? ", " : "", route->method);
    }
    if (*allow) {
        argos_http_set (req, MHD_HTTP_HEADER_ALLOW, allow);
        argos_http_error (req, 405, "invalid_request_error", "method_not_allowed", NULL,
            "This path does not take that method.");
        return false;
    }
    argos_http_error (
        req, 404, "invalid_request_error", "not_found", NULL, "There is nothing at this path.");
    return false;
}

//  --------------------------------------------------------------------------
//  Key

static const struct sockaddr *
s_peer (const argos_http_req_t *req)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (req->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static bool
s_peer_is_loopback (const argos_http_req_t *req)
{
    const struct sockaddr *peer = s_peer (req);
    if (peer && peer->sa_family == AF_INET)
        return (ntohl (((const struct sockaddr_in *) (const void *) peer)->sin_addr.s_addr) >>
                   24) == 127;
    if (!peer || peer->sa_family != AF_INET6)
        return false;
    const struct in6_addr *address =
        &((const struct sockaddr_in6 *) (const void *) peer)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK (address) ||
           (IN6_IS_ADDR_V4MAPPED (address) && address->s6_addr[12] == 127);
}

//  Without a key, only requests that name this host by a loopback name: else a web page could reach
//  us through a name of its own that it points here.

static bool
s_host_is_loopback (const argos_http_req_t *req)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    const char *host = argos_http_header (req, MHD_HTTP_HEADER_HOST);
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t size = strlen (names[i]);
        if (strncasecmp (host, names[i], size) == 0 && (host[size] == 0 || host[size] == ':'))
            return true;
    }
    return !host; //  HTTP/1.0
}

static bool
s_token_is_right (argos_http_req_t *req, const char *authorization)
{
    if (strncasecmp (authorization, "Bearer", 6) != 0 ||
        (authorization[6] != ' ' && authorization[6] != '\t'))
        return false;
    const char *token = authorization + 6 + strspn (authorization + 6, " \t");
    size_t size = strlen (token);
    while (size && (token[size - 1] == ' ' || token[size - 1] == '\t'))
        size--;
    return argos_http_ring_find (req->http->ring, token, size, req->owner, &req->scopes);
}

//  Whether the key may use the route; answers when not.

static bool
s_scope_fits (argos_http_req_t *req)
{
    if (req->scopes & (req->route->scopes | ARGOS_HTTP_ADMIN))
        return true;
    argos_http_error (req, 403, "gateway_auth_error", "insufficient_scope", NULL,
        "The scopes of this API key do not reach so far.");
    return false;
}

bool
argos_http_check_auth (argos_http_req_t *req, const char *method, const char *url)
{
    if (!req->route->scopes)
        return true;
    bool keyed = argos_http_ring_keyed (req->http->ring);
    const char *authorization = argos_http_header (req, MHD_HTTP_HEADER_AUTHORIZATION);
    bool loopback =
        req->http->unauthenticated && s_peer_is_loopback (req) && s_host_is_loopback (req);
    if (loopback && (!authorization || !keyed)) {
        memcpy (req->owner, ARGOS_HTTP_MAIN, sizeof ARGOS_HTTP_MAIN);
        req->scopes = ARGOS_HTTP_ALL;
        return true;
    }
    if (authorization && keyed && s_token_is_right (req, authorization))
        return s_scope_fits (req);
    const struct sockaddr *peer = s_peer (req);
    char address[64] = "";
    if (peer)
        (void) getnameinfo (peer,
            peer->sa_family == AF_INET6 ? sizeof (struct sockaddr_in6)
                                        : sizeof (struct sockaddr_in),
            address, sizeof address, NULL, 0, NI_NUMERICHOST);
    argos_log (ARGOS_LOG_WARN, "api", "unauthorized", "peer=%s method=%.16s path=%.500s", address,
        method, url);
    argos_http_set (req, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    argos_http_error (req, 401, "gateway_auth_error", "gateway_auth_failed", NULL,
        authorization ? "The API key is wrong."
                      : "An API key is needed: Authorization: Bearer <key>.");
    return false;
}
