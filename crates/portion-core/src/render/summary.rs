//! A single object that is too large to be shown: what tells most of it, and how to get the rest.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::drawn::{Drawn, Left, Spot, characters_for_names, names};
use super::raw;
use super::room::Room;
use crate::cursor::Place;
use crate::noise::Noise;
use crate::projection::{Fields, LeftOut, is_within};
use crate::scan::{Kind, Reader, decoded, minify};
use crate::snapshot::{Field, Form, Members, Profile, Rank, Slice, Subject, leaves};
use crate::stage::elide;
use crate::tokens::approximate;
use crate::view::{Made, Of, Wanted, core, made, sections};

/// Characters kept of long strings, from the first attempt to the last.
const ELISIONS: [usize; 3] = [240, 100, 40];
/// The same of what answers a question, in which a string is often all there is.
const ANSWERS: [usize; 5] = [8_000, 4_000, 2_000, 1_000, 500];
/// What a shortened string is reckoned at, in tokens.
const ELIDED: usize = 80;
/// What a list or object inside may cost to be shown whole, in tokens.
const SMALL_CONTAINER: usize = 120;

/// Draws an object: whole where it was singled out and fits, else the fields asked for, else a summary.
pub(super) fn draw(spot: &Spot<'_>, members: &Members, room: &Room<'_>) -> Drawn {
    let text: &str = &spot.subject.text;
    if let Place::Byte(at) = spot.place {
        return raw::draw(text, spot.subject.span(), at as usize, room);
    }
    match &spot.view.wanted {
        Wanted::All if room.fits(text) => Drawn::whole(spot, room),
        Wanted::All => raw::draw(text, spot.subject.span(), 0, room),
        Wanted::Some(fields) => projected(spot, members, fields, room),
        Wanted::Best if spot.singled_out && room.fits(text) => Drawn::whole(spot, room),
        // A `limit` says nothing of an object.
        Wanted::Best if room.at_most(spot.policy.summarize_above).fits(text) => Drawn::whole(spot, room),
        Wanted::Best => {
            let noise = spot.strip().map(|strip| Noise::of_object(strip, text)).unwrap_or_default();
            let drawn = if noise.is_empty() {
                summarized(spot, members, room)
            } else {
                without_noise(spot, members, noise, room)
            };
            drawn.unwrap_or_else(|| raw::draw(text, spot.subject.span(), 0, room))
        }
    }
}

/// An object without its noise: all of that, where it is small, else summarized.
fn without_noise(spot: &Spot<'_>, members: &Members, noise: Noise, room: &Room<'_>) -> Option<Drawn> {
    let mut lean = String::new();
    noise.without(&spot.subject.text, &mut lean);
    let own = Members::read(&mut Reader::new(&lean)).ok()?;
    let fields = core(&spot.subject.text, members).1.len();
    let mut drawn = if room.at_most(spot.policy.summarize_above).fits(&lean) {
        let shown = shown_names(&lean, &core(&spot.subject.text, members).0);
        let mut drawn = Drawn::new("summary", lean);
        drawn.json = true;
        drawn.say("totalFields", fields.max(shown.len()));
        drawn.say("projectedFields", names(shown, characters_for_names(room) / 2));
        drawn.sections = Some(Map::new());
        drawn
    } else {
        let form = Form::Object(Arc::new(own.clone()));
        let subject = Subject { text: Slice::new(lean), form };
        let mut drawn = summarized(&Spot { subject: &subject, ..*spot }, &own, room)?;
        if drawn.meta.get("totalFields").and_then(Value::as_u64).is_some_and(|shown| shown < fields as u64) {
            drawn.say("totalFields", fields);
        }
        drawn
    };
    drawn.noise = Left { named: noise.named, nulls: noise.nulls };
    Some(drawn)
}

/// The fields asked for; raw where they alone are too large.
fn projected(spot: &Spot<'_>, members: &Members, fields: &Fields, room: &Room<'_>) -> Drawn {
    let text: &str = &spot.subject.text;
    let mut written = String::new();
    fields.show(text, &mut written, &mut LeftOut::new());
    let Some((body, elided)) = fitted(&written, spot.pointer, room) else {
        return raw::draw(text, spot.subject.span(), 0, room);
    };
    let mut drawn = Drawn::new("summary", body);
    drawn.json = true;
    drawn.say("totalFields", core(text, members).1.len());
    drawn.say("projectedFields", names(fields.paths().iter().cloned(), characters_for_names(room) / 2));
    if elided > 0 {
        drawn.say("elided", elided);
    }
    drawn
}

/// What tells most of an object; `None` where not even that fits.
fn summarized(spot: &Spot<'_>, members: &Members, room: &Room<'_>) -> Option<Drawn> {
    let text: &str = &spot.subject.text;
    // A summary is worth its name at half of what would have been shown whole.
    let aim = room.tokens.min((spot.policy.summarize_above / 2).max(200));
    let first = &spot.policy.manner.summary_fields;
    let Record { body, left_out, elided } = record(text, spot.pointer, aim, room, first)?;
    let (pointer, core) = core(text, members);
    let mut drawn = Drawn::new("summary", body);
    drawn.json = true;
    let shown = shown_names(&drawn.body, &pointer);
    drawn.say("totalFields", core.len());
    drawn.say("projectedFields", names(shown, characters_for_names(room) / 2));
    if elided > 0 {
        drawn.say("elided", elided);
    }
    drawn.sections = Some(section_sizes(spot, members, &left_out, room));
    if !left_out.is_empty() {
        drawn.extras.push(("condensed", names(left_out, characters_for_names(room))));
    }
    Some(drawn)
}

/// The names of the fields that are shown of what an object is about, which stands at that pointer.
fn shown_names(body: &str, pointer: &str) -> Vec<String> {
    let mut at = 0;
    for step in pointer.split('/').skip(1) {
        let Ok(members) = Members::read(&mut Reader::resume(body, at)) else { return Vec::new() };
        let step = step.replace("~1", "/").replace("~0", "~");
        let Some(member) = members.get(body, &step) else { return Vec::new() };
        at = member.value.start as usize;
    }
    let members = Members::read(&mut Reader::resume(body, at));
    members.map_or_else(
        |_| Vec::new(),
        |members| members.list.iter().map(|own| decoded(own.key.of(body))).collect(),
    )
}

/// The sections that are not shown whole, with their sizes.
fn section_sizes(
    spot: &Spot<'_>,
    members: &Members,
    left_out: &LeftOut,
    room: &Room<'_>,
) -> Map<String, Value> {
    let text: &str = &spot.subject.text;
    let is_out = |name: &str| left_out.iter().any(|path| path == name || is_on_way(path, name));
    // A section of some fields has no such sections in it.
    let given = if spot.view.section { &[][..] } else { &spot.policy.manner.sections };
    let made = made(spot.subject, given);
    let (_, core) = core(text, members);
    let size_of = |made: &Made| {
        let of = if made.of == Of::Object(String::new()) { text } else { core.span.of(text) };
        size(&made.of_object(of), room).into()
    };
    let mut characters = 2 * characters_for_names(room);
    let mut sizes: Map<String, Value> = Map::new();
    for made in &made {
        characters = characters.saturating_sub(made.name.len() + 24);
        if characters > 0 {
            sizes.insert(made.name.clone(), size_of(made));
        }
    }
    let mut found: Vec<_> = sections(spot.subject)
        .into_iter()
        .filter(|section| !made.iter().any(|made| section.is_in(made)))
        .filter(|section| {
            let large = section.kind.is_some_and(Kind::is_container) && section.span.len() > 2;
            large && is_out(&section.name) || section.kind == Some(Kind::String) && section.span.len() > 300
        })
        .collect();
    // Where not all can be named, the largest are.
    found.sort_by_key(|section| std::cmp::Reverse(section.span.len()));
    let kept = found.iter().take_while(|section| {
        let cost = section.name.len() + 24;
        let fits = cost <= characters;
        characters = characters.saturating_sub(cost);
        fits
    });
    let mut kept: Vec<_> = kept.collect();
    kept.sort_by_key(|section| section.span.start);
    sizes.extend(
        kept.into_iter().map(|section| (section.name.clone(), size(section.span.of(text), room).into())),
    );
    sizes
}

/// Whether a dotted path leads through a member of that name, at any depth.
fn is_on_way(path: &str, name: &str) -> bool {
    path.split('.').any(|step| step == name)
}

fn size(json: &str, room: &Room<'_>) -> String {
    let size = approximate(room.counter, json);
    let mark = if size.counted { "" } else { "≈" };
    let items = match Kind::of(json) {
        Kind::Array => format!("{} items, ", crate::snapshot::cells(json).len()),
        _ => String::new(),
    };
    format!("{items}{mark}{} tokens", size.tokens)
}

/// A record, made to fit.
pub(super) struct Record {
    /// Its text, JSON.
    pub body: String,
    /// The fields that are not in it.
    pub left_out: LeftOut,
    /// How many strings are shortened.
    pub elided: usize,
}

/// A record within `aim` tokens: the fields that are wanted `first`, and those that tell most, long strings shortened.
///
/// `None` where it is no object or not even its essentials fit the room.
pub(super) fn record(
    text: &str,
    pointer: &str,
    aim: usize,
    room: &Room<'_>,
    first: &[String],
) -> Option<Record> {
    if Kind::of(text) != Kind::Object {
        let mut written = String::new();
        minify(text, &mut written);
        let fitted = fitted(&written, pointer, room);
        return fitted.map(|(body, elided)| Record { body, left_out: LeftOut::new(), elided });
    }
    let (candidates, inside) = candidates(text);
    // Inside wrappers a field may be named as if it stood at the top.
    let rank = |path: &str| {
        let own = path.strip_prefix(&inside).and_then(|rest| rest.strip_prefix('.'));
        first.iter().position(|name| is_within(path, name) || own.is_some_and(|own| is_within(own, name)))
    };
    let (mut first, rest): (Vec<Field>, Vec<Field>) =
        candidates.into_iter().partition(|field| rank(&field.path).is_some());
    first.sort_by_key(|field| rank(&field.path));
    let costs = costs(text, room, &|path| rank(path).is_some());
    let mut spend = aim;
    loop {
        let keep = choose(&first, &rest, &costs, spend);
        let (mut written, mut left_out) = (String::new(), LeftOut::new());
        keep.show(text, &mut written, &mut left_out);
        if let Some((body, elided)) = fitted(&written, pointer, &room.at_most(aim.max(spend))) {
            return Some(Record { body, left_out, elided });
        }
        if spend == 0 {
            return None;
        }
        spend = if spend < 40 { 0 } else { spend * 2 / 3 };
    }
}

/// A record with all of its fields, long strings shortened no more than it takes to fit.
pub(super) fn shortened(text: &str, pointer: &str, room: &Room<'_>) -> Option<Record> {
    let mut written = String::new();
    minify(text, &mut written);
    ANSWERS.into_iter().find_map(|above| {
        let mut body = String::new();
        let elided = elide(&written, above, pointer, &mut body);
        room.fits(&body).then(|| Record { body, left_out: LeftOut::new(), elided })
    })
}

/// Text with strings shortened until it fits, and how many were.
fn fitted(json: &str, pointer: &str, room: &Room<'_>) -> Option<(String, usize)> {
    let mut shortened = None;
    for above in ELISIONS {
        let mut out = String::new();
        let elided = elide(json, above, pointer, &mut out);
        if room.fits(&out) {
            // A text that fits as it is loses nothing.
            let whole = elided > 0 && above == ELISIONS[0] && json.len() < 4_000 && room.fits(json);
            shortened = Some(if whole { (json.to_owned(), 0) } else { (out, elided) });
            break;
        }
    }
    shortened
}

/// The fields of a record by what they tell, seen from its root, and the dotted path to the object that it is about.
fn candidates(text: &str) -> (Vec<Field>, String) {
    let mut fields = Profile::of_record(text);
    let mut about = String::new();
    // Inside wrappers the record's own fields count as if they stood at the top.
    if let Ok(members) = Members::read(&mut Reader::new(text)) {
        let (pointer, inner) = core(text, &members);
        if !pointer.is_empty() {
            let prefix =
                pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
            let own = Profile::of_record(inner.span.of(text));
            let inside = |path: &str| path.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('.'));
            fields.retain(|field| !inside(&field.path) && field.path != prefix);
            fields.extend(
                own.into_iter().map(|field| Field { path: format!("{prefix}.{}", field.path), ..field }),
            );
            fields.sort_by_key(|field| field.rank);
            about = prefix;
        }
    }
    (fields, about)
}

fn choose(first: &[Field], rest: &[Field], costs: &HashMap<String, usize>, spend: usize) -> Fields {
    let mut left = spend.saturating_sub(10);
    let mut kept = Vec::new();
    let any = first.iter().map(|field| (field, usize::MAX));
    for (field, most) in any.chain(rest.iter().map(|field| (field, SMALL_CONTAINER))) {
        let cost = costs.get(&field.path).copied().unwrap_or(ELIDED);
        let always = field.rank <= Rank::Status && spend > 0;
        let fitting = cost <= left && (field.rank != Rank::Container || cost <= most);
        if always || fitting {
            left = left.saturating_sub(cost);
            kept.push(field.path.clone());
        }
    }
    kept.into_iter().collect()
}

/// What each field costs to show, long strings shortened.
fn costs(text: &str, room: &Room<'_>, first: &dyn Fn(&str) -> bool) -> HashMap<String, usize> {
    let mut costs = HashMap::new();
    let mut add = |path: String, json: &str| {
        let most = match Kind::of(json) {
            Kind::String => ELIDED,
            _ if first(&path) => room.tokens,
            _ => SMALL_CONTAINER + 1,
        };
        let cost = room.counter.count_within(json, most).unwrap_or(most);
        let key = 2 + path.len() / 4;
        *costs.entry(path).or_default() += cost + key;
    };
    leaves(text, &mut |path, _, value| add(path.to_owned(), value.of(text)));
    if let Ok(members) = Members::read(&mut Reader::new(text)) {
        let (pointer, inner) = core(text, &members);
        let prefix = pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
        if !prefix.is_empty() {
            let own = inner.span.of(text);
            leaves(own, &mut |path, _, value| add(format!("{prefix}.{path}"), value.of(own)));
        }
    }
    costs
}
