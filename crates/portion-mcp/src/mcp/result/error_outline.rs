//! Parses JSON-RPC errors with content: some servers put whole documents into `error.data`.

use portion_core::payload::{Block, Content, Payload};
use portion_core::redact::RedactionRules;
use portion_core::render::{Piece, Portion};
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;

use super::super::walk::{self, Member, Sequence, Splice};
use super::add_value;
use super::extra_members::ExtraMembers;
use super::overflow::{OTHER_MEMBERS_STEP, Overflow};
use super::write::PortionContent;

const ERROR_ADDRESS: &str = "/error";
const MESSAGE_ADDRESS: &str = "/error/message";
const DATA_ADDRESS: &str = "/error/data";
/// Code of an error without a valid one.
const DEFAULT_CODE: i32 = -32603;
/// Largest valid code, in bytes.
const MAX_CODE_BYTES: usize = 32;
/// Largest message that is not part of the shown pieces, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// The `error` member of a response.
pub(crate) struct ErrorOutline<'a> {
    text: &'a str,
    span: Span,
    /// True if it is an object, as errors should be.
    is_object: bool,
    members: Vec<Member>,
    message: Option<Member>,
    data: Option<Member>,
    /// Other members that are too large to pass.
    overflow: Overflow,
}

impl<'a> ErrorOutline<'a> {
    /// Parses an error. A value that is not an object becomes the data.
    pub(crate) fn parse(text: &'a str, error: Span, redact: Option<&'a RedactionRules>) -> Self {
        let is_object = walk::kind(text, error) == JsonKind::Object;
        if !is_object {
            let data = Some(Member { key: Span { start: error.start, end: error.start }, value: error });
            let (members, overflow) = (Vec::new(), Overflow::default());
            return Self { text, span: error, is_object, members, message: None, data, overflow };
        }
        let members = walk::members(text, error);
        let named = |name| walk::find_member(text, &members, name);
        let (message, data) = (named("message"), named("data"));
        let code = named("code").filter(|code| code.value.len() <= MAX_CODE_BYTES);
        let known = [message, data, code].map(|member| member.map(|member| member.key));
        let mut extras = ExtraMembers::new(text, redact);
        for (i, member) in members.iter().enumerate().filter(|(_, member)| !known.contains(&Some(member.key)))
        {
            extras.add(*member, (0, i), ERROR_ADDRESS);
        }
        Self { text, span: error, is_object, members, message, data, overflow: extras.take_overflow() }
    }

    /// Leaves the error unchanged apart from redactions.
    pub(crate) fn apply_redactions(&self, splice: &mut Splice<'_>) {
        for (place, replacement) in &self.overflow.redactions {
            splice.replace(*place, replacement.clone());
        }
    }

    /// Returns the payload: the message and the data.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let mut payload = Payload {
            invalid_utf8_count: invalid_utf8,
            is_error: true,
            frame_bytes: self.overflow.frame_bytes,
            ..Payload::default()
        };
        for (address, member) in [(MESSAGE_ADDRESS, self.message), (DATA_ADDRESS, self.data)] {
            let Some(Member { value, .. }) = member else { continue };
            add_value(&mut payload, address, value.slice(self.text));
        }
        for extra in &self.overflow.single {
            let json = extra.member.value.slice(self.text);
            payload.blocks.push(Block::new(extra.address(self.text), Content::Extra(json.to_owned())));
        }
        if let Some(json) = self.overflow.other_members_json(self.text) {
            payload
                .blocks
                .push(Block::new(format!("{ERROR_ADDRESS}/{OTHER_MEMBERS_STEP}"), Content::Extra(json)));
        }
        payload
    }

    /// Replaces the content by a portion: the code stays, the message is shortened, the data are replaced.
    pub(crate) fn write_portion(&self, portion: &Portion, splice: &mut Splice<'_>) {
        self.write_content(portion.into(), splice);
    }

    fn write_content(&self, content: PortionContent<'_>, splice: &mut Splice<'_>) {
        let piece_at = |address: &str| content.pieces.iter().find(|piece| piece.address == address);
        let message = self.message.map(|member| member.value.slice(self.text)).unwrap_or_default();
        let message = piece_at(MESSAGE_ADDRESS).map_or_else(|| truncate(message), piece_text);
        let data = content.json_at(DATA_ADDRESS, is_envelope);
        if !self.is_object {
            let message = "the server returned an error that is not an object";
            let replacement =
                format!("{{\"code\":{DEFAULT_CODE},\"message\":{},\"data\":{data}}}", quote(message));
            return splice.replace(self.span, replacement);
        }
        let code = |member: &Member| {
            walk::string_equals(member.key.slice(self.text), "code") && member.value.len() <= MAX_CODE_BYTES
        };
        let mut added = vec![format!("\"message\":{}", quote(&message)), format!("\"data\":{data}")];
        if !self.members.iter().any(code) {
            added.insert(0, format!("\"code\":{DEFAULT_CODE}"));
        }
        let sequence = Sequence::of_members(self.span, &self.members);
        splice.edit_sequence(&sequence, |i| code(&self.members[i]), &added);
    }
}

/// Returns true if a piece is an envelope: nothing else in an error has a MIME type.
fn is_envelope(piece: &Piece) -> bool {
    piece.mime.is_some()
}

/// Returns the text of a piece: a message stays text, and its envelope metadata goes into the data.
fn piece_text(piece: &Piece) -> String {
    let json = piece.body.as_str();
    let content =
        is_envelope(piece).then(|| walk::string_member(json, walk::document_span(json), "content")).flatten();
    content.unwrap_or_else(|| json.to_owned())
}

/// Returns the text of a JSON string, shortened if it is long.
fn truncate(quoted: &str) -> String {
    let text = unescape(quoted);
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use portion_core::render::{Piece, PieceBody};

    use super::super::super::walk::Splice;
    use super::{ErrorOutline, PortionContent, walk};

    const NOTICE: &str = r#"{"meta":{"cursor":"C"}}"#;
    const SHOWN: PortionContent<'static> = PortionContent {
        pieces: &[],
        structured: None,
        notice: NOTICE,
        text_notice: Some(NOTICE),
        cursor: Some("C"),
        extra_meta: None,
        is_whole: false,
    };

    fn check(error: &str, content: PortionContent<'_>, expect: &str) {
        let failure = ErrorOutline::parse(error, walk::document_span(error), None);
        let mut splice = Splice::new(error);
        failure.write_content(content, &mut splice);
        assert_eq!(splice.apply(), expect);
    }

    #[test]
    fn limits_the_content_of_an_error() {
        let nothing = SHOWN;
        let cut = format!("{} …", "é".repeat(300));
        check(
            &format!(r#"{{"code": -32000.0, "message":"{}","data":[1,2]}}"#, "é".repeat(400)),
            nothing,
            &format!(r#"{{"code": -32000.0,"message":"{cut}","data":{NOTICE}}}"#),
        );
        let structured = Some(r#"{"a":1,"meta":{}}"#);
        check(
            r#"{"data":{"a":1,"b":2},"message":"no \u0022x\u0022","code":1}"#,
            PortionContent { structured, ..SHOWN },
            r#"{"code":1,"message":"no \"x\"","data":{"a":1,"meta":{}}}"#,
        );
        let pieces =
            [Piece { address: "/error/data".into(), body: PieceBody::Text("some".into()), mime: None }];
        check(
            r#"{"data":"some and more","code":1}"#,
            PortionContent { pieces: &pieces, ..SHOWN },
            &format!(r#"{{"code":1,"message":"","data":{{"data":"some","portion":{NOTICE}}}}}"#),
        );
    }

    #[test]
    fn a_message_stays_a_message() {
        let envelope = |address: &str| Piece {
            address: address.into(),
            body: PieceBody::Text(r#"{"content":"some","metadata":{}}"#.into()),
            mime: Some("application/json".into()),
        };
        check(
            r#"{"message":"some and more","code":1}"#,
            PortionContent { pieces: &[envelope("/error/message")], text_notice: None, ..SHOWN },
            &format!(r#"{{"code":1,"message":"some","data":{NOTICE}}}"#),
        );
        check(
            r#"{"message":"m","data":"some and more","code":1}"#,
            PortionContent { pieces: &[envelope("/error/data")], text_notice: None, ..SHOWN },
            r#"{"code":1,"message":"m","data":{"content":"some","metadata":{}}}"#,
        );
    }
}
