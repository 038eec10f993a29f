//! Finds boundaries in stack traces and thread dumps without stamps. A trace includes its causes, a frame
//! its second line.

use super::indent::LineContext;
use super::{Boundary, ChunkWindow, Chunker, TextKind, TextSample, indent};

/// Minimum share of lines that are frames, second lines of frames, or similar, in per cent.
const MIN_RELATED_PERCENT: usize = 50;
/// Minimum frames of a stack trace.
const MIN_FRAMES: usize = 3;
/// Starts of unindented lines that continue the trace above, even after blank lines.
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
/// Starts of lines that always begin a trace.
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

/// Cuts between traces.
#[derive(Debug)]
pub(super) struct TraceChunker;

impl Chunker for TraceChunker {
    fn kind(&self) -> TextKind {
        TextKind::Trace
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

/// Returns true if a trace begins with this line.
fn begins_trace(context: &LineContext) -> bool {
    let (line, above) = (context.line.text, context.above.text);
    if context.line.indent() > 0
        || has_prefix(line, CONTINUATION_PREFIXES)
        || is_frame(line)
        || announces_continuation(above)
    {
        false
    } else {
        // An unindented line below a frame that is not a frame itself begins something else.
        context.after_gap || has_prefix(line, TRACE_PREFIXES) || is_java_frame(above)
    }
}

fn has_prefix(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.starts_with(word))
}

/// Returns true if the line above announces that the next line belongs to it.
fn announces_continuation(above: &str) -> bool {
    let chained = ["During handling of", "The above exception", "panic: ", "fatal error: ", "[signal "];
    chained.iter().any(|word| above.starts_with(word))
}

/// Returns true for a frame in a common notation.
fn is_frame(line: &str) -> bool {
    let content = line.trim();
    is_java_frame(line)
        || content.starts_with("File \"") && content.contains(", line ")
        || content.strip_prefix('#').is_some_and(begins_with_digit)
        || content.starts_with("from ") && content.contains(".rb:")
        || content.contains(".rb:") && content.contains(":in ")
        || is_rust_frame(content)
        || is_go_location(line)
        || is_go_call(line)
}

/// Matches `at a.b(C.java:1)`, `at f (file.js:1:2)`, `at N.M() in file.cs:line 3`, `... 3 more`.
fn is_java_frame(line: &str) -> bool {
    let content = line.trim_start();
    let indented = content.len() < line.len();
    (indented || content.contains('(')) && content.starts_with("at ")
        || content.starts_with("... ") && (content.ends_with("more") || content.contains("common frames"))
}

/// Matches `  12: core::panicking::panic`.
fn is_rust_frame(content: &str) -> bool {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits) && content[digits..].starts_with(": ") && content.contains("::")
}

/// Matches a tab, a file and a line: `\t/src/main.go:12 +0x1d`.
fn is_go_location(line: &str) -> bool {
    let Some(content) = line.strip_prefix('\t') else { return false };
    content.rfind(".go:").is_some_and(|at| begins_with_digit(&content[at + 4..]))
}

/// Matches `main.work(0xc000012345, 0x2)`, `created by main.main`.
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
