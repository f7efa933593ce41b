//  argos_tool_name - other spellings of the names of tools, which models have learned elsewhere.
//  Pure.

#ifndef ARGOS_TOOL_NAME_H
#define ARGOS_TOOL_NAME_H

//  The tool that a name means: another spelling's, else the name itself. Case does not matter for
//  spellings. Borrowed or static.
const char *argos_tool_name (const char *name);

#endif
