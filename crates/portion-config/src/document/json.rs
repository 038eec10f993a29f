//! JSON: whether it is, and what is wrong with it, says `serde_json`; where everything stands, our own reader.

use portion_core::scan::{Kind, Reader, ScanError, decoded};
use portion_core::span::Span;
use serde_json::Value;

use super::build::Build;
use super::yaml::empty;
use super::{Document, Fault, MOST_BYTES, Node, Spot, Tree};

/// Reads a document.
///
/// # Errors
/// Where it is none; the first thing that makes it so.
pub fn read(text: &str) -> Result<Document, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = Spot { line: 1, column: 1 };
    if text.len() > MOST_BYTES {
        return Err(Fault::new(start, "this is too large", format!("{MOST_BYTES} bytes are the most")));
    }
    if text.trim().is_empty() {
        return Err(empty(start));
    }
    serde_json::from_str::<Value>(text).map_err(|error| {
        let told = error.to_string();
        // The place stands before the message.
        let told = told.split(" at line ").next().unwrap_or_default();
        let spot = Spot { line: error.line().max(1), column: error.column().max(1) };
        Fault::new(spot, format!("this is no JSON: {told}"), "mend it there or just before")
    })?;
    let mut build = Build::default();
    walk(text, &Lines::new(text), &mut build)?;
    build.done().ok_or_else(|| empty(start))
}

fn walk(text: &str, lines: &Lines<'_>, build: &mut Build) -> Result<(), Fault> {
    let strange = |error: ScanError| {
        Fault::new(
            lines.spot(error.at),
            format!("this is no JSON: {} is expected", error.what),
            "mend it there",
        )
    };
    let mut reader = Reader::new(text);
    let mut open: Vec<Kind> = Vec::new();
    loop {
        let kind = reader.peek().map_err(strange)?;
        let at = reader.at();
        match kind {
            Kind::Object => {
                reader.enter_object().map_err(strange)?;
                build.begin(Tree::Map(Vec::new()), lines.spot(at), 0)?;
                open.push(kind);
            }
            Kind::Array => {
                reader.enter_array().map_err(strange)?;
                build.begin(Tree::List(Vec::new()), lines.spot(at), 0)?;
                open.push(kind);
            }
            kind => {
                let span = reader.skip().map_err(strange)?;
                build.scalar(scalar(kind, span, text, lines), 0)?;
            }
        }
        loop {
            let more = match open.last() {
                None => return Ok(()),
                Some(Kind::Object) => match reader.next_key().map_err(strange)? {
                    Some(key) => {
                        build.scalar(scalar(Kind::String, key, text, lines), 0)?;
                        true
                    }
                    None => false,
                },
                Some(_) => reader.next_item().map_err(strange)?,
            };
            if more {
                break;
            }
            open.pop();
            build.end(lines.spot(reader.at().saturating_sub(1)).line)?;
        }
    }
}

fn scalar(kind: Kind, span: Span, text: &str, lines: &Lines<'_>) -> Node {
    let written = span.of(text);
    let tree = match kind {
        Kind::Null => Tree::Null,
        Kind::String => Tree::Scalar { text: decoded(written), plain: false },
        _ => Tree::Scalar { text: written.to_owned(), plain: true },
    };
    let spot = lines.spot(span.start as usize);
    Node { tree, spot, last_line: spot.line }
}

/// Where lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let starts = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    fn spot(&self, at: usize) -> Spot {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(start..at).map_or(at - start, |before| before.chars().count()) + 1;
        Spot { line, column }
    }
}
