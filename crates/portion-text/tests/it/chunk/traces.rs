//! Chunks of stack traces and dumps without timestamps, and of those inside logs.

use super::rules::check;

#[test]
fn java() {
    check(
        "trace",
        260,
        "Exception in thread \"main\" java.lang.IllegalStateException: no\n\
         \tat a.B.c(B.java:1)\n\tSuppressed: java.io.IOException: late\n\t\tat d.E.f(E.java:2)\n\
         Caused by: java.io.IOException: gone\n\tat d.E.g(E.java:3)\n\t... 3 more\n\
         ¦java.lang.RuntimeException: another\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n\tat a.B.e(B.java:3)\n",
    );
}

#[test]
fn python() {
    check(
        "trace",
        330,
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\n  File \"a.py\", line 9, in g\n    1 / 0\n\
         ZeroDivisionError: division by zero\n\nDuring handling of the above exception, another exception occurred:\n\n\
         Traceback (most recent call last):\n  File \"b.py\", line 4, in h\n    f()\nValueError: bad\n\n\
         ¦Traceback (most recent call last):\n  File \"c.py\", line 1, in <module>\n    x\nNameError: x\n",
    );
}

#[test]
fn go() {
    check(
        "trace",
        190,
        "panic: oh no\n\ngoroutine 1 [running]:\nmain.work(0xc000012345, 0x2)\n\t/src/main.go:12 +0x1d\nmain.main()\n\t/src/main.go:7 +0x20\n\
         \n¦goroutine 18 [chan receive]:\nmain.wait(...)\n\t/src/wait.go:30\ncreated by main.main\n\t/src/main.go:5 +0x44\nexit status 2\n",
    );
}

#[test]
fn node() {
    check(
        "trace",
        260,
        "Uncaught AggregateError: All promises were rejected\n    at all (/app/a.js:1:2) {\n  [errors]: [\n    Error: one\n        at one (/app/a.js:3:4),\n\
         \x20   Error: two\n        at two (/app/a.js:5:6)\n  ],\n  [cause]: Error: deep\n      at deep (/app/b.js:7:8)\n}\n\
         ¦TypeError: x is not a function\n    at f (/app/c.js:1:2)\n    at g (/app/c.js:3:4)\n",
    );
}

#[test]
fn php_dotnet_ruby_and_rust() {
    check(
        "trace",
        200,
        "PHP Fatal error:  Uncaught Exception: no in /a.php:3\nStack trace:\n#0 /a.php(9): f()\n#1 /b.php(2): g()\n#2 {main}\n  thrown in /a.php on line 3\n\
         ¦PHP Fatal error:  Uncaught Exception: two in /a.php:3\nStack trace:\n#0 /a.php(9): f()\n#1 {main}\n  thrown in /a.php on line 3\n",
    );
    check(
        "trace",
        250,
        "Unhandled exception. System.InvalidOperationException: no\n ---> System.IO.IOException: gone\n   at A.B() in /a.cs:line 3\n\
         \x20  --- End of inner exception stack trace ---\n   at A.C() in /a.cs:line 9\n   at A.Main() in /a.cs:line 12\n\
         ¦Unhandled exception. System.Exception: two\n   at A.B() in /a.cs:line 3\n   at A.C() in /a.cs:line 9\n",
    );
    check(
        "trace",
        140,
        "app.rb:3:in `f': no (RuntimeError)\n\tfrom app.rb:7:in `g'\n\tfrom app.rb:9:in `<main>'\n\n\
         ¦lib.rb:3:in `f': two (RuntimeError)\n\tfrom lib.rb:7:in `g'\n\tfrom lib.rb:9:in `<main>'\n",
    );
    check(
        "trace",
        230,
        "thread 'main' panicked at src/main.rs:2:5:\nexplicit panic\nstack backtrace:\n   0: std::panicking::begin\n             at /rustc/a.rs:1:2\n\
         \x20  1: app::main\n             at ./src/main.rs:2:5\n\
         ¦thread 'two' panicked at src/main.rs:9:5:\nagain\nstack backtrace:\n   0: std::panicking::begin\n             at /rustc/a.rs:1:2\n\
         \x20  1: app::two\n             at ./src/main.rs:9:5\n",
    );
}

#[test]
fn a_frame_keeps_its_second_line() {
    check(
        "trace",
        115,
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g(1, 2)\n  File \"a.py\", line 9, in g\n    h(1)\n\
         ¦  File \"a.py\", line 12, in h\n    i()\n  File \"a.py\", line 15, in i\n    1 / 0\nZeroDivisionError: no\n",
    );
    check(
        "log",
        130,
        "10:00:00 ERROR failed\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\n  File \"a.py\", line 9, in g\n    h()\n\
         ¦  File \"a.py\", line 12, in h\n    i()\n  File \"a.py\", line 15, in i\n    1 / 0\nZeroDivisionError: no\n10:00:01 next\n10:00:02 last\n",
    );
}
