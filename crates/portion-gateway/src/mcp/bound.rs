//! Bounds what passes beside payloads: members of a message, of its parameters, of a task.
//!
//! Small members keep their bytes. Of larger ones long strings are shortened, and what is large all the same is left out.
//! Where values are hidden, they are hidden here too, by the names of their members.

use portion_core::redact::Redact;
use portion_core::scan::{Kind, Reader, decoded, quote};
use portion_core::span::Span;

use super::splice::Splice;
use super::walk::{self, Member, Sequence};

/// Bytes of a member up to which nothing is shortened in it.
const SMALL: usize = 1024;
/// Characters that stay of a string that is shortened.
const SHOWN: usize = 300;
/// Members that a model or a person reads of what a server asks its client.
const TEXT_MEMBERS: [&str; 3] = ["text", "message", "systemPrompt"];

/// What members are bounded by.
#[derive(Clone, Copy)]
pub(super) struct Bound<'a> {
    /// Bytes that they may have together.
    pub most: usize,
    /// What is hidden of them.
    pub redact: Option<&'a Redact>,
}

/// What became of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bounded {
    /// They fit, changed or not.
    Fits,
    /// Some were shortened or left out, of so many bytes.
    Shortened(usize),
    /// Even shortened they are too large.
    TooLarge,
}

impl Bound<'_> {
    /// Bounds the members of an object that are not among `except`.
    pub(super) fn members(
        self,
        text: &str,
        object: Span,
        except: &[&str],
        splice: &mut Splice<'_>,
    ) -> Bounded {
        let members = walk::members(text, object);
        let is_excepted = |member: &Member| except.iter().any(|name| walk::is(member.key.of(text), name));
        let others = || (0..members.len()).filter(|i| !is_excepted(&members[*i]));
        let whole: usize = others().map(|i| members[i].whole().len() + 1).sum();
        let is_large = whole > self.most;
        let (mut left, mut gone, mut cut) = (self.most, vec![false; members.len()], 0);
        let mut edits = Vec::new();
        for i in others() {
            let (came, said) = (members[i].whole(), self.member(text, members[i], is_large));
            let len = said.as_ref().map_or(came.len(), String::len) + 1;
            match left.checked_sub(len) {
                Some(rest) => left = rest,
                // Of very many members each is small.
                None if len <= SMALL => return Bounded::TooLarge,
                None => {
                    gone[i] = true;
                    cut += came.len();
                    continue;
                }
            }
            if let Some(said) = said {
                cut += came.len().saturating_sub(said.len()) * usize::from(is_large);
                edits.push((came, said));
            }
        }
        for (place, said) in edits {
            splice.replace(place, said);
        }
        if gone.contains(&true) {
            let items = members.iter().map(|member| member.whole()).collect();
            splice.edit(&Sequence { whole: object, items }, |i| !gone[i], &[]);
        }
        if cut > 0 { Bounded::Shortened(cut) } else { Bounded::Fits }
    }

    /// What a member says instead of what it said; `None` where that stays.
    fn member(self, text: &str, member: Member, is_large: bool) -> Option<String> {
        let hidden = self.redact.and_then(|redact| hidden(redact, text, member));
        if !is_large || hidden.as_ref().map_or(member.whole().len(), String::len) <= SMALL {
            return hidden;
        }
        let json = format!("{{{}}}", hidden.as_deref().unwrap_or(member.whole().of(text)));
        let shortened = shortened(&json);
        shortened.map(|json| json[1..json.len() - 1].to_owned()).or(hidden)
    }
}

/// A member with its hidden values replaced; `None` where it has none.
pub(super) fn hidden(redact: &Redact, text: &str, member: Member) -> Option<String> {
    let json = format!("{{{}}}", member.whole().of(text));
    let by_name = redact.apply(&json).map(|(json, _)| json);
    if by_name.as_deref().is_some_and(|json| json.trim() == "{}") {
        // What is left out keeps its name: its neighbours have commas between them.
        return Some(format!("{}:null", member.key.of(text)));
    }
    let in_texts = hidden_texts(redact, by_name.as_deref().unwrap_or(&json), |_| true);
    let json = in_texts.or(by_name)?;
    Some(json[1..json.len() - 1].to_owned())
}

/// JSON with what is to be hidden in its strings replaced, in those members that `which` names; `None` where there is nothing.
pub(super) fn hidden_texts(redact: &Redact, json: &str, which: impl Fn(&str) -> bool) -> Option<String> {
    let mut splice = Splice::new(json);
    strings(json, |key, value| {
        if which(key)
            && let Some((said, _)) = redact.hide(&decoded(value.of(json)))
        {
            splice.replace(value, quote(&said));
        }
    });
    (!splice.is_empty()).then(|| splice.apply())
}

/// Whether a member's string is read by a model or a person, in what a server asks its client.
pub(super) fn is_text(key: &str) -> bool {
    TEXT_MEMBERS.contains(&key)
}

/// JSON with its long strings shortened; `None` where it has none.
fn shortened(json: &str) -> Option<String> {
    let mut splice = Splice::new(json);
    strings(json, |_, value| {
        if value.len() > SMALL
            && let Some(said) = beginning(&decoded(value.of(json)))
        {
            splice.replace(value, quote(&said));
        }
    });
    (!splice.is_empty()).then(|| splice.apply())
}

/// The beginning of a text that is longer than what is shown.
pub(super) fn beginning(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(SHOWN)?;
    let left_out = text[end..].chars().count();
    Some(format!("{} … [+{left_out} chars]", &text[..end]))
}

/// Bytes of what is not base64 of an image or a recording within a limit, each.
pub(super) fn bytes_beside_media(json: &str, media_limit: usize) -> usize {
    let mut media = 0;
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    strings(json, |key, value| {
        let inside = value.of(json).trim_matches('"').as_bytes();
        if matches!(key, "data" | "blob")
            && value.len() > SMALL
            && inside.len() / 4 * 3 <= media_limit
            && inside.iter().all(base64)
        {
            media += inside.len();
        }
    });
    json.len().saturating_sub(media)
}

/// Visits each string that is a value of valid JSON, with the key of the member that it is in.
fn strings(json: &str, mut visit: impl FnMut(&str, Span)) {
    let mut reader = Reader::new(json);
    // Of each open container: whether it is an object, and the key of its present member.
    let mut open: Vec<(bool, String)> = Vec::new();
    let mut is_value = true;
    loop {
        if is_value {
            let Ok(kind) = reader.peek() else { return };
            let entered = match kind {
                Kind::Object => reader.enter_object(),
                Kind::Array => reader.enter_array(),
                _ => match reader.skip() {
                    Ok(value) => {
                        if kind == Kind::String {
                            visit(open.last().map_or("", |(_, key)| key), value);
                        }
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
            };
            if entered.is_err() {
                return;
            }
            if kind.is_container() {
                let key = open.last().map_or_else(String::new, |(_, key)| key.clone());
                open.push((kind == Kind::Object, key));
            }
        }
        is_value = match open.last_mut() {
            None => return,
            Some((true, within)) => match reader.next_key() {
                Ok(Some(key)) => {
                    *within = decoded(key.of(json));
                    true
                }
                Ok(None) => false,
                Err(_) => return,
            },
            Some((false, _)) => match reader.next_item() {
                Ok(more) => more,
                Err(_) => return,
            },
        };
        if !is_value {
            open.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use portion_core::redact::Redact;

    use super::super::splice::Splice;
    use super::super::walk;
    use super::{Bound, Bounded, bytes_beside_media};

    fn check(json: &str, most: usize, expect: Bounded, becomes: &str) {
        let redact = Redact::default_secrets();
        let bound = Bound { most, redact: Some(&redact) };
        let mut splice = Splice::new(json);
        assert_eq!(bound.members(json, walk::whole(json), &["kept"], &mut splice), expect, "{json}");
        if expect != Bounded::TooLarge {
            assert_eq!(splice.apply(), becomes);
        }
    }

    #[test]
    fn small_members_keep_their_bytes() {
        for json in ["{}", r#"{ "a" : [1, 2], "b":"\u0041" }"#] {
            check(json, 100, Bounded::Fits, json);
        }
        let kept = format!(r#"{{"kept":"{}","a":1}}"#, "x".repeat(9_000));
        check(&kept, 100, Bounded::Fits, &kept);
    }

    #[test]
    fn large_members_are_shortened_or_left_out() {
        let long = "é".repeat(2_000);
        let cut = format!("{} … [+1700 chars]", "é".repeat(300));
        check(
            &format!(r#"{{"a":1,"b":"{long}"}}"#),
            2_000,
            Bounded::Shortened(format!(r#""b":"{long}""#).len() - format!(r#""b":"{cut}""#).len()),
            &format!(r#"{{"a":1,"b":"{cut}"}}"#),
        );
        let many = format!(r#""m":[{}]"#, vec!["1"; 5_000].join(","));
        check(&format!(r#"{{{many},"a":1}}"#), 2_000, Bounded::Shortened(many.len()), r#"{"a":1}"#);
        let small: Vec<String> = (0..1_000).map(|i| format!(r#""{i}":1"#)).collect();
        check(&format!("{{{}}}", small.join(",")), 2_000, Bounded::TooLarge, "");
    }

    #[test]
    fn what_is_hidden_is_hidden_here() {
        check(
            r#"{"password":"x","pin":123,"a":{"token":"y"},"t":"password=z"}"#,
            1_000,
            Bounded::Fits,
            r#"{"password":"[redacted]","pin":null,"a":{"token":"[redacted]"},"t":"password=[redacted]"}"#,
        );
    }

    #[test]
    fn media_have_a_limit_of_their_own() {
        let (data, text) = ("A".repeat(8_000), "A b ".repeat(2_000));
        let of = |data: &str| format!(r#"{{"a":[{{"data":"{data}"}}]}}"#);
        assert_eq!(bytes_beside_media(&of(&data), 6_000), of("").len());
        assert_eq!(bytes_beside_media(&of(&data), 5_999), of(&data).len());
        assert_eq!(bytes_beside_media(&of(&text), 1 << 20), of(&text).len());
    }
}
