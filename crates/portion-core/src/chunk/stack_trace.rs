//! Stack traces and dumps of threads without stamps: a trace keeps what caused it, a frame its
//! second line.

use super::indent::LineContext;
use super::{Boundary, ChunkWindow, Chunker, TextSample, indent};

/// Percent of the lines that are frames, their second lines or the like in a text that is all traces.
const MIN_RELATED_PERCENT: usize = 50;
/// Frames without which a text is no trace.
const MIN_FRAMES: usize = 3;
/// Beginnings of unindented lines that go on with the trace above them, blank lines between or not.
const CONTINUATION_PREFIXES: &[&str] = &[
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
const TRACE_PREFIXES: &[&str] = &[
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
pub(super) struct TraceChunker;

impl Chunker for TraceChunker {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn matches(&self, sample: &TextSample) -> bool {
        let (mut lines, mut frames, mut related) = (0, 0, 0);
        let mut above = None;
        for line in sample.lines() {
            let frame = is_frame(line.text);
            let second = above.is_some_and(|indent| line.indent() > indent);
            lines += 1;
            frames += usize::from(frame);
            related += usize::from(
                frame
                    || second
                    || has_prefix(line.text, CONTINUATION_PREFIXES)
                    || has_prefix(line.text, TRACE_PREFIXES),
            );
            above = frame.then(|| line.indent());
        }
        frames >= MIN_FRAMES && related * 100 >= lines * MIN_RELATED_PERCENT
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        indent::mark_units(window.lines(), begins_trace)
    }
}

/// Whether a trace begins with a line.
fn begins_trace(place: &LineContext) -> bool {
    let (said, above) = (place.line.text, place.above.text);
    if place.line.indent() > 0
        || has_prefix(said, CONTINUATION_PREFIXES)
        || is_frame(said)
        || announces_continuation(above)
    {
        false
    } else {
        // What stands below a frame at the margin and is none begins something else.
        place.after_gap || has_prefix(said, TRACE_PREFIXES) || is_java_frame(above)
    }
}

fn has_prefix(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.starts_with(word))
}

/// Whether the line above says that what follows belongs to it.
fn announces_continuation(above: &str) -> bool {
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
        || is_rust_frame(said)
        || is_go_location(line)
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
fn is_rust_frame(said: &str) -> bool {
    let digits = said.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits) && said[digits..].starts_with(": ") && said.contains("::")
}

/// A tab, a file and a line: `\t/src/main.go:12 +0x1d`.
fn is_go_location(line: &str) -> bool {
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
