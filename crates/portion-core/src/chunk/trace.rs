//! Stack traces and dumps of threads without stamps: a trace keeps what caused it, a frame its
//! second line.

use super::indent::Place;
use super::{Chunker, Mark, Sample, Window, indent};

/// Percent of the lines that are frames, their second lines or the like in a text that is all traces.
const RELATED: usize = 50;
/// Frames without which a text is no trace.
const FEWEST: usize = 3;
/// Beginnings of unindented lines that go on with the trace above them, blank lines between or not.
const CHAINED: &[&str] = &[
    "Caused by",
    "Suppressed",
    "Wrapped by",
    "During handling of",
    "The above exception",
    "[previous exception]",
    "[stacktrace]",
    "Stack trace:",
    "Call Stack",
    "--- End of",
    "... ",
    "at ",
    "Next ",
    "created by ",
    "goroutine running on other thread",
    "stack backtrace:",
    "note: ",
    "thrown ",
    "}",
    "]",
];
/// Beginnings of lines with which a trace begins, whatever is above.
const BEGINS: &[&str] = &[
    "Exception in thread",
    "Uncaught ",
    "Unhandled ",
    "panic: ",
    "fatal error: ",
    "goroutine ",
    "PHP Fatal error",
    "Fatal error: ",
    "thread '",
    "Traceback (",
    "\"",
];

/// Chunks of whole traces.
#[derive(Debug)]
pub(super) struct Trace;

impl Chunker for Trace {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn claims(&self, sample: &Sample) -> bool {
        let (mut lines, mut frames, mut related) = (0, 0, 0);
        let mut above = None;
        for line in sample.lines() {
            let frame = is_frame(line.text);
            let second = above.is_some_and(|indent| line.indent() > indent);
            lines += 1;
            frames += usize::from(frame);
            related += usize::from(
                frame || second || begins_with(line.text, CHAINED) || begins_with(line.text, BEGINS),
            );
            above = frame.then(|| line.indent());
        }
        frames >= FEWEST && related * 100 >= lines * RELATED
    }

    fn marks(&self, window: &Window) -> Vec<Mark> {
        indent::mark(window.lines(), begins)
    }
}

/// Whether a trace begins with a line.
fn begins(place: &Place) -> bool {
    let (said, above) = (place.line.text, place.above.text);
    if place.line.indent() > 0 || begins_with(said, CHAINED) || is_frame(said) || is_chaining(above) {
        false
    } else {
        // What stands below a frame at the margin and is none begins something else.
        place.after_gap || begins_with(said, BEGINS) || is_java_frame(above)
    }
}

fn begins_with(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.starts_with(word))
}

/// Whether the line above says that what follows belongs to it.
fn is_chaining(above: &str) -> bool {
    let chained = ["During handling of", "The above exception", "panic: ", "fatal error: ", "[signal "];
    chained.iter().any(|word| above.starts_with(word))
}

/// A frame in one of the common notations.
fn is_frame(line: &str) -> bool {
    let said = line.trim();
    is_java_frame(line)
        || said.starts_with("File \"") && said.contains(", line ")
        || said.strip_prefix('#').is_some_and(begins_with_digit)
        || said.starts_with("from ") && said.contains(".rb:")
        || said.contains(".rb:") && said.contains(":in ")
        || is_numbered(said)
        || is_go_place(line)
        || is_go_call(line)
}

/// `at a.b(C.java:1)`, `at f (file.js:1:2)`, `at N.M() in file.cs:line 3`, `... 3 more`.
fn is_java_frame(line: &str) -> bool {
    let said = line.trim_start();
    let indented = said.len() < line.len();
    (indented || said.contains('(')) && said.starts_with("at ")
        || said.starts_with("... ") && (said.ends_with("more") || said.contains("common frames"))
}

/// `  12: core::panicking::panic`.
fn is_numbered(said: &str) -> bool {
    let digits = said.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits) && said[digits..].starts_with(": ") && said.contains("::")
}

/// A tab, a file and a line: `\t/src/main.go:12 +0x1d`.
fn is_go_place(line: &str) -> bool {
    let Some(said) = line.strip_prefix('\t') else { return false };
    said.rfind(".go:").is_some_and(|at| begins_with_digit(&said[at + 4..]))
}

/// `main.work(0xc000012345, 0x2)`, `created by main.main`.
fn is_go_call(line: &str) -> bool {
    let call = line.find('(').is_some_and(|at| {
        let name = &line[..at];
        name.contains('.') && !name.contains([' ', '\t', '=']) && line.trim_end().ends_with(')')
    });
    call || line.starts_with("created by ")
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}
