//! Data of the demo's server: real school records and a real log, which the binary contains, and bookings of a rental
//! desk, in the fields of a booking API. The bookings are generated: nobody has made them.
//!
//! `data/README.md` names their sources. They are packed with Zstandard, because the tokenizer needs its decoder
//! anyway.

use std::io::{self, Read};

use ruzstd::decoding::StreamingDecoder;
use serde::Deserialize;
use serde_json::{Value, json};

/// Number of bookings.
const COUNT: usize = 500;

const GUESTS: [&str; 10] = [
    "Ada Byron",
    "Bo Lindqvist",
    "Chen Wei",
    "Dolores Ruiz",
    "Emeka Obi",
    "Fatma Kaya",
    "Giulia Ferri",
    "Hugo Marti",
    "Ines Rocha",
    "Jonas Weber",
];
const LISTINGS: [(&str, &str, &str); 6] = [
    ("Casa del Tajo", "Ronda", "ES"),
    ("Harbour Loft", "Porto", "PT"),
    ("Lake House", "Bled", "SI"),
    ("Garden Villa", "Lucca", "IT"),
    ("Studio Nord", "Bergen", "NO"),
    ("Mill Cottage", "Durbuy", "BE"),
];
const CHANNELS: [&str; 4] = ["direct", "airbnb", "bookingcom", "vrbo"];
const STATUSES: [&str; 5] = ["confirmed", "confirmed", "confirmed", "modified", "cancelled"];
const LANGUAGES: [&str; 4] = ["en", "sv", "zh", "es"];
const MESSAGES: [&str; 5] = [
    "We land at half past nine and should be at the house before midnight. Is there a key box, or do we have to call somebody \
     when we arrive? Our phones may not work abroad.",
    "The boiler went out twice during the shower, and the display shows E4. Could somebody have a look tomorrow morning, after \
     ten if possible, because the children sleep late?",
    "Thank you for the quick answer. We have found the parking space behind the bakery, and the code of the gate works. One of \
     the garden chairs is broken, it was so when we came.",
    "Would it be possible to leave our luggage after check-out until four o'clock? The train goes in the evening, and there are \
     no lockers at the station.",
    "Please send the invoice to my company, with the tax number on it. The amount on the confirmation differs from that of the \
     payment by the city tax, as far as I can see.",
];

const SCHOOLS: &[u8] = include_bytes!("data/schools.ndjson.zst");
const LOG: &[u8] = include_bytes!("data/server.log.zst");

/// Returns the bookings, the last arrival first.
pub(super) fn bookings() -> Vec<Value> {
    (0..COUNT).rev().map(booking).collect()
}

/// The unpacked records and log.
#[derive(Debug)]
pub(crate) struct DemoData {
    /// Public colleges and universities of the United States, in the order of IPEDS.
    pub(crate) schools: Vec<School>,
    /// Log of a database server in a busy minute.
    pub(crate) log: String,
}

/// One institution: the whole record as JSON, and what the tools search by.
#[derive(Debug)]
pub(crate) struct School {
    /// The record, a JSON object without insignificant whitespace.
    pub(crate) record: String,
    /// The identifier that IPEDS gives an institution.
    pub(crate) unitid: u64,
    /// The institution's name.
    pub(crate) name: String,
    /// Two letters: the postal code of its state.
    pub(crate) state: String,
}

#[derive(Deserialize)]
struct SearchFields {
    unitid: u64,
    name: String,
    state: String,
}

impl DemoData {
    /// Unpacks what the binary carries.
    ///
    /// # Errors
    /// The binary was built with damaged files.
    pub(crate) fn unpack() -> io::Result<Self> {
        let schools = unpack(SCHOOLS)?.lines().map(School::parse).collect::<Result<_, _>>()?;
        Ok(Self { schools, log: unpack(LOG)? })
    }
}

impl School {
    fn parse(record: &str) -> Result<Self, serde_json::Error> {
        let SearchFields { unitid, name, state } = serde_json::from_str(record)?;
        Ok(Self { record: record.to_owned(), unitid, name, state })
    }
}

fn booking(number: usize) -> Value {
    let (listing, city, country) = LISTINGS[number % LISTINGS.len()];
    let guest = GUESTS[number * 7 % GUESTS.len()];
    let nights = 1 + number % 6;
    let (month, day) = (1 + number * 12 / COUNT, 1 + number % 21);
    let arrival = format!("2026-{month:02}-{day:02}");
    let (rate, cleaning) = (70 + number * 37 % 190, 45 + number % 4 * 10);
    let total = rate * nights + cleaning;
    let messages = (0..4).map(|at| {
        let sender = if at % 2 == 0 { "guest" } else { "host" };
        json!({
            "id": number * 10 + at,
            "sender": sender,
            "at": format!("{arrival}T{:02}:15:00Z", 8 + at),
            "body": MESSAGES[(number + at) % MESSAGES.len()],
        })
    });
    json!({
        "id": 40_000 + number,
        "status": STATUSES[number % STATUSES.len()],
        "guestName": guest,
        "arrivalDate": arrival,
        "departureDate": format!("2026-{month:02}-{:02}", day + nights),
        "nights": nights,
        "totalPrice": total,
        "currency": "EUR",
        "listingName": listing,
        "listingMapId": 100 + number % LISTINGS.len(),
        "channelName": CHANNELS[number % CHANNELS.len()],
        "guest": {
            "language": LANGUAGES[number % LANGUAGES.len()],
            "adults": 1 + number % 4,
            "children": number % 3,
            "pets": number % 7 / 6,
            "isReturning": number.is_multiple_of(5),
        },
        "financial": {
            "nightlyRate": rate,
            "cleaningFee": cleaning,
            "cityTax": nights * 2,
            "paid": number % 7 > 2,
            "refunded": 0,
            "commission": total / 10,
        },
        "property": {
            "city": city,
            "countryCode": country,
            "bedroomsNumber": 1 + number % 4,
            "checkInTimeStart": 15,
            "checkOutTime": 10,
        },
        "messages": messages.collect::<Vec<_>>(),
    })
}

fn unpack(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    StreamingDecoder::new(packed).map_err(io::Error::other)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{COUNT, bookings, *};

    #[test]
    fn bookings_are_in_order_and_have_ids_and_dates_of_their_own() {
        let all = bookings();
        assert_eq!(all.iter().filter_map(|one| one["id"].as_u64()).collect::<BTreeSet<_>>().len(), COUNT);
        for one in &all {
            let (from, to) = (one["arrivalDate"].as_str(), one["departureDate"].as_str());
            assert!(from < to && to.is_some_and(|to| to[8..] < *"29"), "{one}");
        }
    }

    #[test]
    fn holds_what_the_demo_promises() {
        let material = DemoData::unpack().expect("the packed files are whole");
        assert!(material.schools.len() >= 1_000);
        assert!(material.schools.iter().all(|school| school.state.len() == 2 && !school.name.is_empty()));
        assert!(material.log.lines().count() >= 10_000);
        assert!(material.log.lines().filter(|line| line.starts_with('\t')).count() >= 1_000);
    }
}
