//! What a field's name says of it: what is asked for most, and what its numbers are good for.

use super::words::split;

/// Words by how often what they name is asked for, the most asked for first.
const ASKED: [(u8, &[&str]); 6] = [
    (
        90,
        &[
            "status",
            "state",
            "phase",
            "type",
            "kind",
            "price",
            "total",
            "amount",
            "balance",
            "enrollment",
            "severity",
            "priority",
        ],
    ),
    (
        80,
        &[
            "date",
            "time",
            "timestamp",
            "created",
            "level",
            "category",
            "score",
            "rating",
            "count",
            "size",
            "cost",
            "revenue",
            "subtotal",
            "due",
            "paid",
            "nights",
            "city",
            "country",
            "name",
            "title",
            "email",
            "currency",
            "role",
        ],
    ),
    (
        70,
        &[
            "updated",
            "closed",
            "merged",
            "started",
            "finished",
            "completed",
            "published",
            "expires",
            "modified",
            "quantity",
            "qty",
            "number",
            "version",
            "language",
            "region",
            "phone",
            "login",
            "runtime",
            "duration",
            "genre",
            "engine",
            "sector",
            "population",
            "capacity",
            "stars",
            "budget",
            "gross",
            "votes",
            "points",
            "fee",
            "tax",
            "discount",
            "payout",
            "rate",
            "salary",
        ],
    ),
    (
        60,
        &[
            "arrival",
            "departure",
            "checkin",
            "checkout",
            "guests",
            "adults",
            "children",
            "stock",
            "weight",
            "height",
            "width",
            "length",
            "percent",
            "age",
            "rank",
            "views",
            "likes",
            "comments",
            "replicas",
            "restarts",
            "additions",
            "deletions",
            "changes",
            "forks",
            "issues",
            "author",
            "owner",
            "assignee",
            "customer",
            "user",
            "username",
            "method",
            "reason",
            "result",
            "outcome",
            "source",
            "channel",
            "brand",
            "artist",
            "department",
            "team",
            "environment",
            "env",
            "zone",
            "namespace",
            "label",
            "subject",
            "zip",
            "grade",
            "class",
            "group",
            "visibility",
            "resolution",
        ],
    ),
    (
        50,
        &[
            "address",
            "location",
            "place",
            "county",
            "district",
            "province",
            "timezone",
            "format",
            "mode",
            "plan",
            "tier",
            "model",
            "platform",
            "os",
            "stage",
            "step",
            "action",
            "event",
            "gender",
            "year",
            "month",
            "day",
            "week",
            "hour",
            "min",
            "max",
            "average",
            "avg",
            "mean",
            "median",
            "sum",
            "value",
            "limit",
            "memory",
            "cpu",
            "port",
            "active",
            "enabled",
            "archived",
            "private",
            "draft",
            "locked",
            "verified",
            "available",
            "open",
        ],
    ),
    (
        40,
        &["code", "description", "summary", "note", "comment", "message", "color", "colour", "unit", "lang"],
    ),
];

/// Words of names whose numbers are not counted with: they name, or place, or date.
const CODES: [&str; 64] = [
    "id",
    "ids",
    "uuid",
    "guid",
    "key",
    "code",
    "codes",
    "zip",
    "zip4",
    "zipcode",
    "postcode",
    "postal",
    "postalcode",
    "lat",
    "latitude",
    "lon",
    "lng",
    "long",
    "longitude",
    "longitud",
    "x",
    "y",
    "year",
    "fips",
    "phone",
    "fax",
    "mobile",
    "tel",
    "telephone",
    "ein",
    "index",
    "idx",
    "num",
    "no",
    "ref",
    "reference",
    "sku",
    "isbn",
    "port",
    "type",
    "status",
    "level",
    "category",
    "kind",
    "flag",
    "version",
    "sector",
    "region",
    "state",
    "phase",
    "priority",
    "severity",
    "class",
    "group",
    "grade",
    "gender",
    "month",
    "day",
    "weekday",
    "week",
    "method",
    "source",
    "zone",
    "locale",
];
/// Words of names whose numbers are moments.
const MOMENTS: [&str; 22] = [
    "at",
    "on",
    "time",
    "timestamp",
    "ts",
    "date",
    "created",
    "updated",
    "modified",
    "expires",
    "expiry",
    "expiration",
    "started",
    "ended",
    "start",
    "end",
    "seen",
    "epoch",
    "deleted",
    "closed",
    "published",
    "since",
];
/// Words that say that a value is a lesser one of its kind.
const LESSER: [&str; 14] = [
    "previous",
    "prev",
    "old",
    "original",
    "external",
    "internal",
    "legacy",
    "default",
    "secondary",
    "alternate",
    "is",
    "has",
    "mailing",
    "min",
];

/// How much what a path names is asked for, from 0 (never) to 100; the last step counts.
pub(crate) fn weight(path: &str) -> u8 {
    let mut words = split(last_step(path));
    // `created_at` is about what was created.
    if words.len() > 1 && words.last().is_some_and(|word| word == "at" || word == "on") {
        words.pop();
    }
    let Some((head, before)) = words.split_last() else { return 0 };
    let beside = before.iter().map(|word| of_word(word) * 2 / 3).max().unwrap_or(0);
    let lesser = if before.iter().any(|word| LESSER.contains(&word.as_str())) { 15 } else { 0 };
    // `total_price` tells more than `cleaning_fee_total_before_tax`.
    let length = before.len().min(4) as u8 * 2;
    let own = of_word(head);
    own.max(beside).saturating_sub(lesser + length).max(u8::from(own.max(beside) > 0))
}

fn of_word(word: &str) -> u8 {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let of = |word: &str| ASKED.iter().find(|(_, words)| words.contains(&word)).map(|(weight, _)| *weight);
    of(word).or_else(|| of(word.strip_suffix('s')?)).unwrap_or(0)
}

/// Whether the numbers of a field are names, places or years rather than quantities.
pub(crate) fn is_code(path: &str) -> bool {
    let words = split(last_step(path));
    let is = |word: &String| CODES.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()));
    match words.as_slice() {
        [] => false,
        // `number_of_guests` and `bedsNumber` count, `invoice_number` does not, nor does a `number` alone.
        [.., what, last] if last == "number" => !what.ends_with('s') || what.ends_with("ss"),
        [last] if last == "number" => true,
        [only] => is(only) || only.len() > 4 && only.ends_with("id"),
        [first, .., last] => is(last) || first == "is" || first == "has",
    }
}

/// Whether the numbers of a field may be moments.
pub(crate) fn is_moment(path: &str) -> bool {
    let words = split(last_step(path));
    words.last().is_some_and(|word| MOMENTS.contains(&word.as_str()))
}

/// The last step of a dotted path.
pub(crate) fn last_step(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{is_code, is_moment, weight};

    #[test]
    fn what_is_asked_for_most_weighs_most() {
        let order = ["status", "totalPrice", "created_at", "cleaningFee", "notes", "frobnication"];
        let weights: Vec<u8> = order.iter().map(|name| weight(name)).collect();
        assert!(weights.is_sorted_by(|a, b| a > b), "{weights:?}");
        assert!(weight("arrivalDate") > weight("previousArrivalDate"));
    }

    #[test]
    fn codes_are_no_quantities() {
        for name in [
            "id",
            "listingMapId",
            "zip_code",
            "latitude",
            "year",
            "phone1",
            "unitid",
            "invoiceNumber",
            "a.school_type",
        ] {
            assert!(is_code(name), "{name}");
        }
        for name in
            ["enrollment", "number_of_guests", "bedsNumber", "totalPrice", "teachers_fte", "nights", "paid"]
        {
            assert!(!is_code(name), "{name}");
        }
    }

    #[test]
    fn moments_are_told_by_name() {
        assert!(is_moment("created") && is_moment("updatedAt") && is_moment("a.expires_on"));
        assert!(!is_moment("amount") && !is_moment("format"));
    }
}
