//  argos_address - which addresses of the Internet are everybody's. Pure.

#ifndef ARGOS_ADDRESS_H
#define ARGOS_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

//  Whether an address is one of the public Internet: no loopback, private, link-local, shared,
//  documentation, multicast or reserved one, also not when IPv4 is wrapped in IPv6.
bool argos_address_is_public (const struct sockaddr *address);

#endif
