//! What the items of a list look like: their fields, and which of them tell most.

pub(crate) mod salience;
mod words;

use std::collections::HashSet;

use super::list::List;
use crate::scan::{Kind, Reader};
use crate::span::Span;

/// The fields of a list's items, learnt from a sample.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The fields, the most telling first.
    pub fields: Vec<Field>,
    /// The items looked at.
    pub samples: Vec<Span>,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its dotted path: `price.total`.
    pub path: String,
    /// How much it tells.
    pub rank: Rank,
}

/// How much a field tells, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// What the record is called by programs. Always shown.
    Identity,
    /// What it is called by people. Always shown.
    Name,
    /// The state it is in. Always shown.
    Status,
    /// What is commonly asked for: kinds, dates, amounts, places.
    Salient,
    /// Any other short value.
    Plain,
    /// What something inside is called, or the state it is in.
    Inner,
    /// Any other short value further inside.
    Nested,
    /// Text.
    Long,
    /// A list or an object of its own.
    Container,
    /// Addresses of the API itself, and what is empty everywhere.
    Noise,
}

/// Levels of objects that are looked into for fields.
const DEPTH: usize = 3;
/// Fields of a record from which objects inside are fields as they are, so that a map in a record is no flood.
const MANY: usize = 1_000;
/// Items looked at, half from the start, half spread over the rest.
const SAMPLES: usize = 24;
/// Bytes of items looked at.
const SAMPLE_BYTES: usize = 256 << 10;
/// Characters from which a string is long.
const LONG: usize = 160;

impl Profile {
    /// Looks at a sample of the items.
    pub(super) fn of(text: &str, list: &List) -> Self {
        let step = (list.len() / (SAMPLES / 2)).max(1);
        let spread = (SAMPLES / 2..list.len()).step_by(step).take(SAMPLES / 2);
        let mut samples: Vec<Span> =
            list.iter_from(text, 0).take(SAMPLES / 2).map(|item| item.value).collect();
        samples.extend(spread.filter_map(|i| list.iter_from(text, i).next()).map(|item| item.value));
        let mut bytes = 0;
        samples.retain(|span| {
            bytes += span.len();
            bytes <= SAMPLE_BYTES || bytes == span.len()
        });
        let mut seen = Seen::default();
        for span in &samples {
            let item = span.of(text);
            leaves(item, &mut |path, _, value| seen.add(path, value.of(item)));
        }
        Self { fields: seen.ranked(samples.len()), samples }
    }

    /// The profile of a single record.
    pub fn of_record(record: &str) -> Vec<Field> {
        let mut seen = Seen::default();
        leaves(record, &mut |path, _, value| seen.add(path, value.of(record)));
        seen.ranked(1)
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let names: usize = self.fields.iter().map(|field| field.path.capacity() + size_of::<Field>()).sum();
        names + self.samples.capacity() * size_of::<Span>()
    }
}

/// What was seen of each field, in the order of first sight.
#[derive(Default)]
struct Seen {
    order: Vec<Sight>,
    index: std::collections::HashMap<String, usize>,
}

struct Sight {
    path: String,
    times: usize,
    values: HashSet<String>,
    longest: usize,
    kinds: Kinds,
}

/// What the values of a field are.
struct Kinds {
    /// Some are objects or arrays.
    container: bool,
    /// Some are strings.
    text: bool,
    /// None holds anything.
    empty: bool,
    /// All that hold anything are web addresses.
    address: bool,
}

impl Seen {
    fn add(&mut self, path: &str, value: &str) {
        let at = *self.index.entry(path.to_owned()).or_insert_with(|| {
            self.order.push(Sight {
                path: path.to_owned(),
                times: 0,
                values: HashSet::new(),
                longest: 0,
                kinds: Kinds { container: false, text: false, empty: true, address: true },
            });
            self.order.len() - 1
        });
        let sight = &mut self.order[at];
        let kind = Kind::of(value);
        sight.times += 1;
        sight.longest = sight.longest.max(value.len());
        sight.kinds.container |= kind.is_container();
        sight.kinds.text |= kind == Kind::String;
        let empty = matches!(value, "null" | "\"\"" | "[]" | "{}");
        sight.kinds.empty &= empty;
        sight.kinds.address &= empty || value.starts_with("\"http://") || value.starts_with("\"https://");
        if value.len() <= 200 {
            sight.values.insert(value.to_owned());
        }
    }

    fn ranked(self, records: usize) -> Vec<Field> {
        let mut fields: Vec<(Rank, Field)> = Vec::new();
        for sight in &self.order {
            let rank = sight.rank(records);
            fields.push((rank, Field { path: sight.path.clone(), rank }));
        }
        // Of several identities, names and states, one each is the record's own: the first and shallowest.
        for (primary, keep) in [(Rank::Identity, 1), (Rank::Name, 2), (Rank::Status, 1)] {
            let mut order: Vec<usize> = (0..fields.len()).filter(|i| fields[*i].0 == primary).collect();
            order.sort_by_key(|i| (fields[*i].1.path.matches('.').count(), weight(&fields[*i].1.path), *i));
            for i in order.into_iter().skip(keep) {
                fields[i].1.rank = Rank::Salient;
            }
        }
        let mut fields: Vec<Field> = fields.into_iter().map(|(_, field)| field).collect();
        // A list without a named identity is told apart by whatever differs in every record.
        if records > 2 && !fields.iter().any(|field| field.rank == Rank::Identity) {
            let unique = self.order.iter().position(|sight| {
                let fraction = sight.values.iter().any(|value| !sight.kinds.text && value.contains('.'));
                sight.values.len() == records && sight.times == records && sight.longest <= 64 && !fraction
            });
            if let Some(i) = unique {
                fields[i].rank = Rank::Identity;
            }
        }
        fields.sort_by_key(|field| field.rank);
        fields
    }
}

/// Among identities: the plain `id` before `accountId`.
fn weight(path: &str) -> usize {
    let last = last_step(path).to_ascii_lowercase();
    match last.as_str() {
        "id" | "_id" | "uuid" | "name" | "title" | "status" | "state" => 0,
        "key" | "uid" | "sha" | "number" | "login" | "subject" | "label" => 1,
        _ => 2,
    }
}

fn last_step(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

impl Sight {
    fn rank(&self, records: usize) -> Rank {
        let depth = self.path.matches('.').count();
        let name = last_step(&self.path).to_ascii_lowercase();
        let ends = |words: &[&str]| words.iter().any(|word| name.ends_with(word));
        if self.kinds.empty
            || self.kinds.address
            || ends(&["_url", "_links", "href", "node_id", "etag", "debug", "trace"])
        {
            return Rank::Noise;
        }
        if self.kinds.container {
            return Rank::Container;
        }
        if self.longest > LONG {
            return Rank::Long;
        }
        let unique = self.values.len() == records;
        // `metadata.name` is as good as `name` where there is none; which ones are kept is settled later.
        // What an item has several of is no name of the item.
        let repeated = self.times > records;
        if depth <= 1 && !repeated {
            let named = weight(&self.path) < 2 && !ends(&NAMES) && !ends(&STATES);
            if unique && (named || depth == 0 && ends(&IDENTITIES)) {
                return Rank::Identity;
            }
            if self.kinds.text && ends(&NAMES) {
                return Rank::Name;
            }
            if ends(&STATES) {
                return Rank::Status;
            }
        }
        match depth {
            0 | 1 if !repeated && (ends(&SALIENT) || ends(&NAMES) || ends(&STATES)) => Rank::Salient,
            0 => Rank::Plain,
            _ if ends(&IDENTITIES) || ends(&NAMES) || ends(&STATES) => Rank::Inner,
            _ => Rank::Nested,
        }
    }
}

const IDENTITIES: [&str; 4] = ["id", "uuid", "ncessch", "cds"];
const NAMES: [&str; 8] = ["name", "title", "login", "label", "subject", "instnm", "sname", "headline"];
const STATES: [&str; 3] = ["status", "state", "phase"];
const SALIENT: [&str; 44] = [
    "type",
    "kind",
    "date",
    "created",
    "created_at",
    "createdat",
    "updated",
    "updated_at",
    "updatedat",
    "time",
    "timestamp",
    "price",
    "total",
    "totalprice",
    "amount",
    "balance",
    "currency",
    "count",
    "size",
    "quantity",
    "number",
    "city",
    "country",
    "region",
    "language",
    "version",
    "email",
    "phone",
    "level",
    "severity",
    "priority",
    "category",
    "score",
    "rating",
    "enrollment",
    "nights",
    "genre",
    "artist",
    "sector",
    "zip",
    "author",
    "owner",
    "stabbr",
    "namespace",
];

/// Calls `visit` with the dotted path, the key and the value of each field of a record. Objects and arrays of
/// objects are looked into three levels deep; a field inside an array is visited once for every object there.
pub fn leaves(record: &str, visit: &mut dyn FnMut(&str, Span, Span)) {
    let mut reader = Reader::new(record);
    if reader.peek() == Ok(Kind::Object) {
        let mut walk = Walk { path: String::new(), seen: 0, visit };
        walk.object(&mut reader, DEPTH);
    }
}

/// A walk over the fields of a record.
struct Walk<'a> {
    path: String,
    seen: usize,
    visit: &'a mut dyn FnMut(&str, Span, Span),
}

impl Walk<'_> {
    /// Bounded by `depth`, not by the input.
    fn object(&mut self, reader: &mut Reader<'_>, depth: usize) {
        if reader.enter_object().is_err() {
            return;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let before = self.path.len();
            if before > 0 {
                self.path.push('.');
            }
            crate::scan::decode(reader.text(key), &mut self.path);
            let Ok(kind) = reader.peek() else { return };
            let mut inside = reader.clone();
            let Ok(value) = reader.skip() else { return };
            let open = depth > 1 && self.seen < MANY && reader.text(value).len() > 2;
            match kind {
                Kind::Object if open => self.object(&mut inside, depth - 1),
                Kind::Array if open && holds_records(&inside) => self.array(&mut inside, depth - 1),
                _ => {
                    self.seen += 1;
                    (self.visit)(&self.path, key, value);
                }
            }
            self.path.truncate(before);
        }
    }

    fn array(&mut self, reader: &mut Reader<'_>, depth: usize) {
        if reader.enter_array().is_err() {
            return;
        }
        while reader.next_item() == Ok(true) {
            let mut inside = reader.clone();
            if reader.skip().is_err() {
                return;
            }
            if inside.peek() == Ok(Kind::Object) && self.seen < MANY {
                self.object(&mut inside, depth);
            }
        }
    }
}

/// Whether the array that the reader is before begins with an object.
fn holds_records(reader: &Reader<'_>) -> bool {
    let mut reader = reader.clone();
    reader.enter_array().is_ok() && reader.next_item() == Ok(true) && reader.peek() == Ok(Kind::Object)
}
