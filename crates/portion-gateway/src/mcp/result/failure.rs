//! JSON-RPC errors that carry more than an error: some servers put whole documents into `error.data`.

use portion_core::payload::{Block, Content, Payload};
use portion_core::redact::Redact;
use portion_core::render::{Piece, Portion};
use portion_core::scan::{Kind, decode, decoded, quote};
use portion_core::span::Span;

use super::super::bound;
use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};
use super::beside::ASIDE;
use super::serve::Shown;

const MESSAGE: &str = "/error/message";
const DATA: &str = "/error/data";
/// What stands as the code of an error that has none.
const NO_CODE: i32 = -32603;
/// Bytes of a code that can be one.
const CODE: usize = 32;
/// Characters of a message that is not shown otherwise.
const MESSAGE_CHARS: usize = 300;

/// The `error` of a response.
pub(crate) struct Failure<'a> {
    text: &'a str,
    whole: Span,
    /// Whether it is an object, as errors are.
    is_object: bool,
    members: Vec<Member>,
    message: Option<Member>,
    data: Option<Member>,
    /// Members besides that are too large to pass.
    beyond: Vec<Member>,
    /// Small members besides of which something is hidden, and what they say then.
    hidden: Vec<(Span, String)>,
}

impl<'a> Failure<'a> {
    /// The error at a place of a valid text. One that is no object is its own data.
    pub(crate) fn of(text: &'a str, error: Span, redact: Option<&Redact>) -> Self {
        let is_object = walk::kind(text, error) == Kind::Object;
        if !is_object {
            let data = Some(Member { key: Span { start: error.start, end: error.start }, value: error });
            let (members, beyond, hidden) = (Vec::new(), Vec::new(), Vec::new());
            return Self { text, whole: error, is_object, members, message: None, data, beyond, hidden };
        }
        let members = walk::members(text, error);
        let message = walk::find(text, &members, "message");
        let data = walk::find(text, &members, "data");
        let taken = [message, data].map(|member| member.map(|member| member.key));
        let (mut left, mut beyond, mut hidden) = (ASIDE, Vec::new(), Vec::new());
        for member in members.iter().filter(|member| !taken.contains(&Some(member.key))) {
            let said = redact.and_then(|redact| bound::hidden(redact, text, *member));
            let len = said.as_ref().map_or(member.whole().len(), String::len);
            let is_code = walk::is(member.key.of(text), "code");
            match left.checked_sub(len).filter(|_| !is_code || member.value.len() <= CODE) {
                Some(rest) => {
                    left = rest;
                    hidden.extend(said.map(|said| (member.whole(), said)));
                }
                None => beyond.push(*member),
            }
        }
        Self { text, whole: error, is_object, members, message, data, beyond, hidden }
    }

    /// Lets the error pass, without what is hidden of it.
    pub(crate) fn pass(&self, splice: &mut Splice<'_>) {
        for (place, said) in &self.hidden {
            splice.replace(*place, said.clone());
        }
    }

    /// The payload: the message, and the data beside it.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let mut payload = Payload { invalid_utf8, is_error: true, ..Payload::default() };
        for (address, member) in [(MESSAGE, self.message), (DATA, self.data)] {
            let Some(Member { value, .. }) = member else { continue };
            let content = if walk::kind(self.text, value) == Kind::String {
                let mut text = String::new();
                payload.lone_surrogates += decode(value.of(self.text), &mut text);
                Content::Text(text)
            } else {
                Content::Structured(value.of(self.text).to_owned())
            };
            payload.blocks.push(Block::new(address, content));
        }
        for Member { key, value } in &self.beyond {
            let address = format!("/error/{}", walk::step(key.of(self.text)));
            payload.blocks.push(Block::new(address, Content::Aside(value.of(self.text).to_owned())));
        }
        payload
    }

    /// Shows the portion instead: the code stays, the message is cut, the data are replaced.
    pub(crate) fn serve(&self, portion: &Portion, splice: &mut Splice<'_>) {
        self.show(portion.into(), splice);
    }

    fn show(&self, shown: Shown<'_>, splice: &mut Splice<'_>) {
        let piece_at = |address: &str| shown.pieces.iter().find(|piece| piece.address == address);
        let message = self.message.map(|member| member.value.of(self.text)).unwrap_or_default();
        let message = piece_at(MESSAGE).map_or_else(|| beginning(message), said);
        let data = match (shown.structured, piece_at(DATA)) {
            (Some(structured), _) => structured.to_owned(),
            (None, Some(piece)) if is_envelope(piece) => piece.body.as_str().to_owned(),
            (None, Some(piece)) => {
                format!("{{\"data\":{},\"portion\":{}}}", quote(piece.body.as_str()), shown.notice)
            }
            (None, None) => shown.notice.to_owned(),
        };
        if !self.is_object {
            let message = "the server answered with an error that is no object";
            let said = format!("{{\"code\":{NO_CODE},\"message\":{},\"data\":{data}}}", quote(message));
            return splice.replace(self.whole, said);
        }
        let code = |member: &Member| walk::is(member.key.of(self.text), "code") && member.value.len() <= CODE;
        let items = self.members.iter().map(|member| member.whole()).collect();
        let mut added = vec![format!("\"message\":{}", quote(&message)), format!("\"data\":{data}")];
        if !self.members.iter().any(code) {
            added.insert(0, format!("\"code\":{NO_CODE}"));
        }
        let sequence = Sequence { whole: self.whole, items };
        splice.edit(&sequence, |i| code(&self.members[i]), &added);
    }
}

/// Whether a piece is an envelope: nothing else in an error has a type.
fn is_envelope(piece: &Piece) -> bool {
    piece.mime.is_some()
}

/// What a piece says: a message stays text, what is to be told of it stands in the data.
fn said(piece: &Piece) -> String {
    let json = piece.body.as_str();
    let content = is_envelope(piece).then(|| walk::string(json, walk::whole(json), "content")).flatten();
    content.unwrap_or_else(|| json.to_owned())
}

/// The beginning of a JSON string that may be long.
fn beginning(quoted: &str) -> String {
    let text = decoded(quoted);
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use portion_core::render::{Body, Piece};

    use super::super::super::splice::Splice;
    use super::{Failure, Shown, walk};

    const NOTICE: &str = r#"{"meta":{"cursor":"C"}}"#;
    const SHOWN: Shown<'static> = Shown {
        pieces: &[],
        structured: None,
        notice: NOTICE,
        enveloped: false,
        cursor: Some("C"),
        beside: None,
        whole: false,
    };

    fn check(error: &str, shown: Shown<'_>, expect: &str) {
        let failure = Failure::of(error, walk::whole(error), None);
        let mut splice = Splice::new(error);
        failure.show(shown, &mut splice);
        assert_eq!(splice.apply(), expect);
    }

    #[test]
    fn bounds_what_an_error_carries() {
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
            Shown { structured, ..SHOWN },
            r#"{"code":1,"message":"no \"x\"","data":{"a":1,"meta":{}}}"#,
        );
        let pieces = [Piece { address: "/error/data".into(), body: Body::Text("some".into()), mime: None }];
        check(
            r#"{"data":"some and more","code":1}"#,
            Shown { pieces: &pieces, ..SHOWN },
            &format!(r#"{{"code":1,"message":"","data":{{"data":"some","portion":{NOTICE}}}}}"#),
        );
    }

    #[test]
    fn a_message_stays_a_message() {
        let envelope = |address: &str| Piece {
            address: address.into(),
            body: Body::Text(r#"{"content":"some","metadata":{}}"#.into()),
            mime: Some("application/json".into()),
        };
        check(
            r#"{"message":"some and more","code":1}"#,
            Shown { pieces: &[envelope("/error/message")], enveloped: true, ..SHOWN },
            &format!(r#"{{"code":1,"message":"some","data":{NOTICE}}}"#),
        );
        check(
            r#"{"message":"m","data":"some and more","code":1}"#,
            Shown { pieces: &[envelope("/error/data")], enveloped: true, ..SHOWN },
            r#"{"code":1,"message":"m","data":{"content":"some","metadata":{}}}"#,
        );
    }
}
