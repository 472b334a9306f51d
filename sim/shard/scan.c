/* The cursor of scan.h. */
#include "sim/shard/scan.h"

#include <ctype.h>

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static void skip_blanks(Scan *scan) {
  while (scan->at < scan->text.n && isspace((unsigned char)scan->text.at[scan->at])) scan->at++;
}

static Str rest_of(Scan *scan) {
  skip_blanks(scan);
  return str_sub(scan->text, scan->at, scan->text.n);
}

bool scan_sees(Scan *scan, const char *token) {
  Str rest = rest_of(scan);
  size_t n = str_of(token).n;
  bool word = isalpha((unsigned char)token[n - 1]);
  return str_starts(rest, token) && !(word && rest.n > n && is_word(rest.at[n]));
}

bool scan_take(Scan *scan, const char *token) {
  if (!scan_sees(scan, token)) return false;
  scan->at += str_of(token).n;
  return true;
}

Status scan_fail(Scan *scan, const char *expected) {
  RETURN_IF(scan->at == 0,
            diag_fail(scan->diag, scan->status, scan->place, NULL, "bad %s '%.*s': expected %s at its start",
                      scan->what, STR_ARG(scan->text), expected));
  return diag_fail(scan->diag, scan->status, scan->place, NULL, "bad %s '%.*s': expected %s after '%.*s'",
                   scan->what, STR_ARG(scan->text), expected, STR_ARG(str_sub(scan->text, 0, scan->at)));
}

Status scan_expect(Scan *scan, const char *token) {
  return scan_take(scan, token) ? STATUS_OK : scan_fail(scan, token);
}

Status scan_quoted(Scan *scan, Str *value) {
  Str rest = rest_of(scan);
  RETURN_IF(rest.n == 0 || (rest.at[0] != '"' && rest.at[0] != '\''), scan_fail(scan, "a quoted name"));
  *value = str_sub(rest, 1, rest.n);
  *value = str_sub(*value, 0, str_find(*value, rest.at[0]));
  RETURN_IF(value->n + 2 > rest.n, scan_fail(scan, "a closing quote"));
  for (size_t i = 0; i < value->n; i++)
    RETURN_IF(iscntrl((unsigned char)value->at[i]), scan_fail(scan, "a name that can be printed"));
  scan->at += value->n + 2;
  return STATUS_OK;
}

Status scan_word(Scan *scan, Str *value) {
  Str rest = rest_of(scan);
  size_t n = 0;
  while (n < rest.n && is_word(rest.at[n])) n++;
  RETURN_IF(n == 0, scan_fail(scan, "a name"));
  *value = str_sub(rest, 0, n);
  scan->at += n;
  return STATUS_OK;
}

Status scan_int(Scan *scan, int64_t least, int64_t *value) {
  Str rest = rest_of(scan);
  size_t n = 0;
  while (n < rest.n && isdigit((unsigned char)rest.at[n])) n++;
  RETURN_IF(!str_to_int(str_sub(rest, 0, n), value) || *value < least, scan_fail(scan, "a number"));
  scan->at += n;
  return STATUS_OK;
}

Status scan_end(Scan *scan) {
  return rest_of(scan).n == 0 ? STATUS_OK : scan_fail(scan, "nothing more");
}
