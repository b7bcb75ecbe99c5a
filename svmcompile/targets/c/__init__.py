"""The C target: a machine program becomes NAME.h and NAME.c."""
