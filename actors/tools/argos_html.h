//  argos_html - what an HTML page says, as markdown. Pure.

#ifndef ARGOS_HTML_H
#define ARGOS_HTML_H

#include <stddef.h>

//  Headings, paragraphs, lists, links, code and tables of the page as markdown; scripts, styles and
//  forms are left out. Anything is taken for HTML. New (free), terminated, at most 2 * size + 64
//  bytes.
char *argos_html_text (const char *html, size_t size);

//  The title of the page, new (free); "" = it has none.
char *argos_html_title (const char *html, size_t size);

#endif
