/* What a sketch takes from Arduino, just enough to build one: prints go to standard output where there is
 * one, and nowhere on an AVR. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __AVR__
#include <avr/pgmspace.h>
#else
#define PROGMEM
#define memcpy_P memcpy
#endif

#define F(text) (text)

static inline unsigned long millis(void)
{
    return 0;
}

class Printer {
public:
    operator bool() const { return true; }
    void begin(unsigned long) {}
    int available()
    {
        const int next = getchar();
        return next == EOF ? 0 : (ungetc(next, stdin), 1);
    }
    int read() { return getchar(); }
    void print(const char *text) { put("%s", text); }
    void print(int value) { put("%d", value); }
    void print(long value) { put("%ld", value); }
    void print(double value, int digits = 2) { put("%.*f", digits, value); }
    template <typename T> void println(T value) { print(value); put("\n"); }
    void println(double value, int digits) { print(value, digits); put("\n"); }

private:
#ifdef __AVR__
    template <typename... T> void put(T...) {}
#else
    template <typename... T> void put(const char *format, T... values) { printf(format, values...); }
    void put(const char *text) { fputs(text, stdout); }
#endif
};

static Printer Serial;

#endif
