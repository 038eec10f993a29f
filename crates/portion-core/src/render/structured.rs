//! The same view for programs, and for the clients that show a model nothing else: `structuredContent`.

use serde_json::Value;

use super::envelope;
use super::notice::enclosed;
use super::said::Said;
use super::walk::{Channel, Walk};
use crate::policy::MetadataStyle;
use crate::scan::{Kind, minify, quote};
use crate::snapshot::{Form as SubjectForm, STRUCTURED, Subject, is_key};

/// What `structuredContent` is made from.
pub(super) enum Form<'a> {
    /// What the text shows.
    Twin(Shape<'a>),
    /// What the text shows, written in another way or shortened at another place.
    Apart(Box<Channel<'a>>, Shape<'a>),
    /// A part of its own.
    Own(Box<Channel<'a>>, Shape<'a>),
    /// A JSON value without a notice, and how much of it is missing.
    Bare(String, Option<Value>),
}

/// How a value that the text shows stands in `structuredContent`.
#[derive(Clone, Copy)]
pub(super) enum Shape<'a> {
    /// As the whole.
    Whole,
    /// Under its sole key.
    Under {
        /// The key, quotes included.
        key: &'a str,
        /// As a string, even if it is JSON.
        as_string: bool,
    },
    /// Not as it is: it is a part of what stands there, and told of beside it.
    Beside,
}

impl<'a> Form<'a> {
    /// Says of fewer records than the text shows that they are fewer: pages by number go on where the text ends.
    pub(super) fn of_pages_like(&mut self, text: &Channel<'_>) {
        let (Self::Apart(own, _), Some((part, served))) = (self, text.items()) else { return };
        let Some(shaped) = own.shaped.as_mut().filter(|shaped| shaped.part == part) else { return };
        let size = text.shaped.as_ref().and_then(|shaped| shaped.drawn.meta.get("pageSize")).cloned();
        shaped.drawn.of = shaped.drawn.of.max(Some(served as usize));
        if let Some(size) = size.filter(|_| shaped.drawn.kind == "page") {
            shaped.drawn.say("pageSize", size);
        }
    }

    /// What is shown as `structuredContent` alone.
    pub(super) fn own(&self) -> Option<&Channel<'a>> {
        match self {
            Self::Own(own, _) | Self::Apart(own, _) => Some(own),
            Self::Twin(_) | Self::Bare(..) => None,
        }
    }

    /// A part that the text does not show: once the text is told, a walk goes on in it.
    pub(super) fn of_its_own(&self) -> Option<&Channel<'a>> {
        match self {
            Self::Own(own, _) => Some(own),
            _ => None,
        }
    }

    /// What is missing here and not in the text, for the notice of the text.
    pub(super) fn cut(&self, text: &Channel<'_>) -> Option<Value> {
        let own = match self {
            Self::Twin(_) => return None,
            Self::Bare(_, missing) => return missing.clone(),
            Self::Apart(own, _) | Self::Own(own, _) => own,
        };
        let drawn = &own.shaped.as_ref()?.drawn;
        if drawn.kind != "page" {
            return drawn.leaves_out().then(|| drawn.kind.into());
        }
        let (served, total) = (drawn.meta.get("served")?, drawn.total?);
        let told = text.shaped.as_ref().and_then(|shaped| shaped.drawn.meta.get("served"));
        let is_cut = own.next.is_some() || drawn.leaves_out();
        (is_cut && told != Some(served)).then(|| serde_json::json!({"served": served, "of": total}))
    }
}

/// Keys a notice is merged under, in camel case.
const KEYS: [&str; 3] = ["nextCursor", "totalCount", "meta"];

/// The whole `structuredContent` of a reply, minified: an object with the notice merged in, unless it is bare.
///
/// It is written into a message as JSON, not as a string. White space of the text that it may be made from, line breaks
/// above all, would end up raw in the message.
pub(super) fn merge(walk: &Walk<'_>, form: &Form<'_>, text: &Channel<'_>, said: &Said) -> String {
    let merged = merged(walk, form, text, said);
    let mut minified = String::with_capacity(merged.len());
    minify(&merged, &mut minified);
    minified
}

fn merged(walk: &Walk<'_>, form: &Form<'_>, text: &Channel<'_>, said: &Said) -> String {
    let style = walk.cx.policy.manner.metadata_style;
    let notice = Value::Object(enclosed(&said.object, style)).to_string();
    let notice = notice.as_str();
    let (channel, shape) = match form {
        Form::Bare(value, _) => return value.clone(),
        Form::Own(own, shape) | Form::Apart(own, shape) => (&**own, *shape),
        Form::Twin(shape) => (text, *shape),
    };
    let part = walk.snapshot.parts().iter().find(|part| part.address == STRUCTURED);
    let taken = part.and_then(|part| part.subject()).is_some_and(|subject| takes_our_keys(subject, style));
    let Some(shaped) = &channel.shaped else { return with_notice("{}", notice, taken) };
    let drawn = &shaped.drawn;
    if walk.wraps() {
        return envelope::wrapped(drawn, &said.object, style);
    }
    let as_string = matches!(shape, Shape::Under { as_string: true, .. }) || !drawn.json;
    let value = if as_string { quote(&drawn.body) } else { drawn.body.clone() };
    let in_shape = drawn.kind != "raw";
    match shape {
        Shape::Under { key, .. } if in_shape => with_notice(&format!("{{{key}:{value}}}"), notice, taken),
        Shape::Whole if in_shape && drawn.json => match Kind::of(&value) {
            Kind::Object => with_notice(value.trim(), notice, taken),
            _ => with_notice(&format!("{{\"items\":{value}}}"), notice, taken),
        },
        _ => {
            let inner = with_notice(&format!("{{\"value\":{value}}}"), notice, false);
            format!("{{\"portion\":{inner}}}")
        }
    }
}

/// An object with the notice's members after its own; all under one key where any of them is taken.
fn with_notice(object: &str, notice: &str, taken: bool) -> String {
    let open = object.strip_suffix('}').unwrap_or("{").trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    if taken {
        return format!("{open}{comma}\"portion\":{notice}}}");
    }
    let members = notice.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    format!("{open}{comma}{members}}}")
}

/// Whether an object has a key that the notice needs.
fn takes_our_keys(subject: &Subject, style: MetadataStyle) -> bool {
    let text: &str = &subject.text;
    let names = KEYS.map(|name| style.key(name));
    let taken = |key| names.iter().any(|name| is_key(text, key, name));
    match &subject.form {
        SubjectForm::Object(members) => members.list.iter().any(|member| taken(member.key)),
        SubjectForm::List(list) => match list.levels.first() {
            Some(level) => level.members.iter().any(|member| taken(member.key)),
            None => list.iter_from(text, 0).filter_map(|item| item.key).any(taken),
        },
        SubjectForm::Text(_) => false,
    }
}
