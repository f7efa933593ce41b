//  argos_curl - see the header.
//
//  libcurl tells which sockets to watch and when it wants to be called. Invariant: handles are
//  taken out of the multi outside of libcurl's own callbacks only. Limits: EVENTS_MAX sockets in
//  one turn.

#include "argos_curl.h"

#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 256 //  Sockets served in one turn

static int
s_on_socket (CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    (void) easy;
    argos_curl_t *self = (argos_curl_t *) arg;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl (self->fd, EPOLL_CTL_DEL, fd, NULL);
        curl_multi_assign (self->multi, fd, NULL);
        return 0;
    }
    struct epoll_event event = { .data.fd = fd };
    if (what != CURL_POLL_OUT)
        event.events |= EPOLLIN;
    if (what != CURL_POLL_IN)
        event.events |= EPOLLOUT;
    int rc = epoll_ctl (self->fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    if (rc < 0) //  The number was closed and came back without a word
        epoll_ctl (self->fd, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    curl_multi_assign (self->multi, fd, self);
    return 0;
}

static int
s_on_timer (CURLM *multi, long timeout_ms, void *arg)
{
    (void) multi;
    argos_curl_t *self = (argos_curl_t *) arg;
    self->due_ms = timeout_ms < 0 ? -1 : self->now + timeout_ms;
    return 0;
}

int
argos_curl_init (argos_curl_t *self, long connections)
{
    *self = (argos_curl_t){ .fd = epoll_create1 (EPOLL_CLOEXEC), .due_ms = -1 };
    self->multi = self->fd < 0 ? NULL : curl_multi_init ();
    if (!self->multi) {
        argos_curl_clear (self);
        return -1;
    }
    curl_multi_setopt (self->multi, CURLMOPT_SOCKETFUNCTION, s_on_socket);
    curl_multi_setopt (self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt (self->multi, CURLMOPT_TIMERFUNCTION, s_on_timer);
    curl_multi_setopt (self->multi, CURLMOPT_TIMERDATA, self);
    if (connections)
        curl_multi_setopt (self->multi, CURLMOPT_MAXCONNECTS, connections);
    return 0;
}

void
argos_curl_clear (argos_curl_t *self)
{
    if (self->multi)
        curl_multi_cleanup (self->multi);
    self->multi = NULL;
    if (self->fd >= 0)
        close (self->fd);
    self->fd = -1;
}

static void
s_serve_sockets (argos_curl_t *self)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait (self->fd, events, EVENTS_MAX, 0);
    int running;
    for (int i = 0; i < count; i++) {
        int mask = 0;
        if (events[i].events & EPOLLIN)
            mask |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT)
            mask |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP))
            mask |= CURL_CSELECT_ERR;
        curl_multi_socket_action (self->multi, events[i].data.fd, mask, &running);
    }
}

void
argos_curl_turn (argos_curl_t *self, int64_t now, argos_curl_fn *fn)
{
    int running, left;
    self->now = now;
    s_serve_sockets (self);
    if (self->due_ms >= 0 && self->due_ms <= now) {
        self->due_ms = -1;
        curl_multi_socket_action (self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (CURLMsg *msg; (msg = curl_multi_info_read (self->multi, &left));) {
        char *transfer = NULL;
        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode code = msg->data.result;
        curl_easy_getinfo (msg->easy_handle, CURLINFO_PRIVATE, &transfer);
        fn (transfer, code);
    }
}
