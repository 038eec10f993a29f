//! YAML 1.2, from the events of a parser.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use super::build::Build;
use super::{Document, EMPTY, Fault, MOST_BYTES, Node, Spot, Tree};

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
    let mut build = Build::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let message = format!("this is no YAML: {}", error.info());
            Fault::new(spot(*error.marker()), message, "mend it there or just before")
        })?;
        take(&mut build, event, span)?;
    }
    build.done().ok_or_else(|| empty(start))
}

/// A document without anything in it.
pub(super) fn empty(spot: Spot) -> Fault {
    Fault::new(spot, EMPTY, "write {} to mean that")
}

fn take(build: &mut Build, event: Event<'_>, span: Span) -> Result<(), Fault> {
    let at = spot(span.start);
    match event {
        Event::DocumentStart(_) if build.is_full() => {
            Err(Fault::new(at, "a second document begins", "put everything into one, without `---`"))
        }
        Event::Alias(anchor) => build.again(anchor, at),
        Event::Scalar(text, style, anchor, tag) => {
            let mut plain = style == ScalarStyle::Plain;
            match tag {
                Some(tag) if tag.is_yaml_core_schema() => plain &= tag.suffix != "str",
                Some(_) => return Err(no_tag(at)),
                None => {}
            }
            let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
            let tree = if null { Tree::Null } else { Tree::Scalar { text: text.into_owned(), plain } };
            build.scalar(Node { tree, spot: at, last_line: last_line(span) }, anchor)
        }
        Event::SequenceStart(_, Some(tag)) | Event::MappingStart(_, Some(tag))
            if !tag.is_yaml_core_schema() =>
        {
            Err(no_tag(at))
        }
        Event::SequenceStart(anchor, _) => build.begin(Tree::List(Vec::new()), at, anchor),
        Event::MappingStart(anchor, _) => build.begin(Tree::Map(Vec::new()), at, anchor),
        Event::SequenceEnd | Event::MappingEnd => build.end(last_line(span)),
        _ => Ok(()),
    }
}

fn no_tag(at: Spot) -> Fault {
    Fault::new(at, "tags have no meaning here", "write the value without the tag")
}

fn spot(marker: Marker) -> Spot {
    Spot { line: marker.line(), column: marker.col() + 1 }
}

fn last_line(span: Span) -> usize {
    span.end.line().max(span.start.line())
}
