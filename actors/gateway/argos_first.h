//  argos_first - what people are told when they speak on a platform for the first time. Pure.
//
//  As long as a platform has no home (what `/sethome` or platforms.<p>.home_channel says), the
//  first new conversation there with somebody who may use /sethome begins with a notice about it,
//  once for the platform. `gateway.home_notice: false` is silent.

#ifndef ARGOS_FIRST_H
#define ARGOS_FIRST_H

#include "argos_cmd.h"
#include "argos_gateway.h"

//  The questions for ARGOS_FACT_TOLD and ARGOS_FACT_HOME.
argos_cmd_ask_fn argos_first_ask_told, argos_first_ask_home;

//  Facts that say whether people are to be told, bits, as far as is known from those that are read.
unsigned argos_first_needs (const argos_gateway_case_t *gateway);

//  Adds the notice, and the record that it was given, when it is due.
void argos_first_step (const argos_gateway_case_t *gateway, json_t *parts);

#endif
