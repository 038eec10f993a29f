//! What programs are shown: whole records, as many as fit, where a text may be condensed.
//!
//! A program holds `structuredContent` against the schema that was listed. A record without some of its fields, or a
//! string with a mark in it, would be a wrong value there, not a short one. So fewer records are served, each of them
//! whole, and a value that cannot be shortened so stands under `portion`, where nothing takes it for the result.

use super::found::in_string;
use super::room::Room;
use super::structured::{Form, Shape};
use super::walk::{Channel, Shaped, Walk};
use super::{Drawn, page, summary};
use crate::cursor::{Place, Position};
use crate::policy::Structured;
use crate::scan::{Kind, minify};
use crate::snapshot::{Form as SubjectForm, Part, Subject, Twin};
use crate::view::{Target, Wanted};

impl<'a> Walk<'a> {
    /// Whether `structuredContent` holds whole records, whatever the text shows of them.
    pub(super) fn serves_records(&self) -> bool {
        let Self { asked, whole, .. } = self;
        let view = &asked.view;
        let plain = view.wanted == Wanted::Best && !view.raw && matches!(view.target, Target::Everything);
        self.cx.policy.manner.structured != Structured::AsText && plain && !whole
    }

    /// The reply as `structuredContent`, where the payload has that.
    pub(super) fn structured(&self, room: Room<'_>, text: &Channel<'a>) -> Option<Form<'a>> {
        let at = self.snapshot.structured()?;
        let part = &self.snapshot.parts()[at];
        if let Some(bare) = self.bare(part, &room) {
            return Some(bare);
        }
        let twin = |twin: Twin| match twin.under {
            Some(key) => Shape::Under { key: key.of(part.text()), as_string: twin.as_string },
            None => Shape::Whole,
        };
        if let Target::Node(node) = &self.asked.view.target {
            let shown = usize::from(node.part);
            let itself = (shown == at).then_some(Shape::Whole);
            let shape = itself.or(part.twin.filter(|twin| twin.of == shown).map(twin));
            let shape = shape.filter(|_| node.pointer.is_empty());
            return Some(self.twin(shape.unwrap_or(Shape::Beside), text, room));
        }
        if self.asked.view.raw {
            return Some(Form::Twin(Shape::Beside));
        }
        match part.twin {
            Some(own) if text.shaped.as_ref().is_some_and(|shaped| shaped.part == own.of) => {
                let is_whole = |shaped: &Shaped| !shaped.drawn.is_to_be_told();
                if !self.serves_records() || text.shaped.as_ref().is_some_and(is_whole) {
                    return Some(self.twin(twin(own), text, room));
                }
                Some(match self.records(own.of, &room) {
                    Some(records) => Form::Apart(Box::new(records), twin(own)),
                    None => self.twin(Shape::Beside, text, room),
                })
            }
            _ => {
                let records = if self.serves_records() { self.records(at, &room) } else { None };
                let shape =
                    if records.is_some() || !self.serves_records() { Shape::Whole } else { Shape::Beside };
                let from = Position { part: at as u16, ..Position::default() };
                let objects = || Self { dense: false, ..*self }.fill(&[at], from, room, false);
                Some(Form::Own(Box::new(records.unwrap_or_else(objects)), shape))
            }
        }
    }

    /// A value that has no place for a notice: no container, or one that is too small to be shortened.
    fn bare(&self, part: &Part, room: &Room<'_>) -> Option<Form<'a>> {
        let subject = part.subject().filter(|_| !self.wraps())?;
        let kind = Kind::of(subject.text.trim_start());
        let as_came = self.cx.policy.manner.structured == Structured::AsCame && !self.whole;
        if kind.is_container() && !(as_came && room.fits(&subject.text)) {
            return None;
        }
        if kind != Kind::String || room.fits(&subject.text) {
            return Some(Form::Bare(subject.text.to_string(), None));
        }
        let pointer = part.address.as_str();
        let short = summary::shortened(&subject.text, pointer, room)?.body;
        let missing = subject.text.len().saturating_sub(short.len());
        Some(Form::Bare(short, Some(format!("{missing} bytes are missing").into())))
    }

    /// A part as whole records, or whole; `None` where neither fits.
    fn records(&self, at: usize, room: &Room<'_>) -> Option<Channel<'a>> {
        let parts = self.snapshot.parts();
        let part = parts.get(at)?;
        let subject = part.subject()?;
        let from = self.asked.from;
        let resumed = usize::from(from.part) == at;
        let place = if resumed { from.place } else { Place::default() };
        // Records fill a room to its end. A notice that is larger than was reckoned with would have both forms drawn again.
        let most = room.at_most(room.tokens - room.tokens / 10);
        let whole = |room: &Room<'_>| self.drawn_whole(subject, (at, place), room);
        let whole = |room: &Room<'_>| {
            if part.holder().is_some() { in_string(part, room, whole) } else { whole(room) }
        };
        let drawn = whole(&most).or_else(|| whole(room))?;
        let next = drawn.next.map(|place| {
            if resumed { self.after(at, place) } else { Position { part: at as u16, ordinal: 1, place } }
        });
        let about = (parts.len() > 1).then_some(parts[at].address.as_str());
        Some(Channel { shaped: Some(Shaped { part: at, drawn }), next, about, ..Channel::default() })
    }

    fn drawn_whole(&self, subject: &Subject, at: (usize, Place), room: &Room<'_>) -> Option<Drawn> {
        let spot = self.spot(subject, self.base(at.0), false, at);
        match &subject.form {
            SubjectForm::List(list) => page::records(&spot, list, room),
            SubjectForm::Object(_) if spot.place.is_start() => {
                let mut minified = String::new();
                minify(&subject.text, &mut minified);
                room.fits(&minified).then(|| Drawn { body: minified, ..Drawn::whole(&spot, room) })
            }
            SubjectForm::Object(_) | SubjectForm::Text(_) => None,
        }
    }

    /// What the text shows; what it shows as a table, as objects.
    fn twin(&self, shape: Shape<'a>, text: &Channel<'a>, room: Room<'_>) -> Form<'a> {
        match text.table() {
            None => Form::Twin(shape),
            Some(most) => Form::Apart(Box::new(self.as_objects(most).drawn(room)), shape),
        }
    }
}
