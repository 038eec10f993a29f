//! JSON-RPC errors that carry more than an error: some servers put whole documents into `error.data`.

use portion_core::payload::{Block, Content, Payload};
use portion_core::render::Portion;
use portion_core::scan::{Kind, decode, decoded, quote};
use portion_core::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member, Sequence};
use super::serve::Shown;

const MESSAGE: &str = "/error/message";
const DATA: &str = "/error/data";
/// Characters of a message that is not shown otherwise.
const MESSAGE_CHARS: usize = 300;

/// The `error` of a response.
pub(crate) struct Failure<'a> {
    text: &'a str,
    whole: Span,
    members: Vec<Member>,
    message: Option<Member>,
    data: Option<Member>,
}

impl<'a> Failure<'a> {
    /// The error at a place of a valid text; `None` where it is no object.
    pub(crate) fn of(text: &'a str, error: Span) -> Option<Self> {
        (walk::kind(text, error) == Kind::Object).then(|| {
            let members = walk::members(text, error);
            let message = walk::find(text, &members, "message");
            let data = walk::find(text, &members, "data");
            Self { text, whole: error, members, message, data }
        })
    }

    /// The payload: the message, and the data beside it.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let mut payload = Payload { invalid_utf8, ..Payload::default() };
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
        payload
    }

    /// Shows the portion instead: the code stays, the message is cut, the data are replaced.
    pub(crate) fn serve(&self, portion: &Portion, splice: &mut Splice<'_>) {
        self.show(portion.into(), splice);
    }

    fn show(&self, shown: Shown<'_>, splice: &mut Splice<'_>) {
        let text_at = |address: &str| {
            shown.pieces.iter().find(|piece| piece.address == address).map(|piece| piece.body.as_str())
        };
        let message = self.message.map(|member| member.value.of(self.text)).unwrap_or_default();
        let message = text_at(MESSAGE).map_or_else(|| beginning(message), ToOwned::to_owned);
        let data = match (shown.structured, text_at(DATA)) {
            (Some(structured), _) => structured.to_owned(),
            (None, Some(text)) => format!("{{\"data\":{},\"portion\":{}}}", quote(text), shown.notice),
            (None, None) => shown.notice.to_owned(),
        };
        let code = |member: &Member| walk::is(member.key.of(self.text), "code");
        let items = self.members.iter().map(|member| member.whole()).collect();
        let added = [format!("\"message\":{}", quote(&message)), format!("\"data\":{data}")];
        let sequence = Sequence { whole: self.whole, items };
        splice.edit(&sequence, |i| code(&self.members[i]), &added);
    }
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

    fn check(error: &str, shown: Shown<'_>, expect: &str) {
        let failure = Failure::of(error, walk::whole(error)).expect("an object");
        let mut splice = Splice::new(error);
        failure.show(shown, &mut splice);
        assert_eq!(splice.apply(), expect);
    }

    #[test]
    fn bounds_what_an_error_carries() {
        let nothing = Shown { pieces: &[], structured: None, notice: NOTICE };
        let cut = format!("{} …", "é".repeat(300));
        check(
            &format!(r#"{{"code": -32000.0, "message":"{}","data":[1,2]}}"#, "é".repeat(400)),
            nothing,
            &format!(r#"{{"code": -32000.0,"message":"{cut}","data":{NOTICE}}}"#),
        );
        let structured = Some(r#"{"a":1,"meta":{}}"#);
        check(
            r#"{"data":{"a":1,"b":2},"message":"no \u0022x\u0022","code":1}"#,
            Shown { pieces: &[], structured, notice: NOTICE },
            r#"{"code":1,"message":"no \"x\"","data":{"a":1,"meta":{}}}"#,
        );
        let pieces = [Piece { address: "/error/data".into(), body: Body::Text("some".into()), mime: None }];
        check(
            r#"{"data":"some and more","code":1}"#,
            Shown { pieces: &pieces, structured: None, notice: NOTICE },
            &format!(r#"{{"code":1,"message":"","data":{{"data":"some","portion":{NOTICE}}}}}"#),
        );
    }
}
