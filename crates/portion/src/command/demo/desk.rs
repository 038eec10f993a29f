//! A rental desk: bookings, in the fields of a booking API, and house rules, as a retrieval tool returns them. Both are
//! generated from the words in `data/desk.json`: nobody has made these bookings.

use serde::Deserialize;
use serde_json::{Value, json};

/// Number of bookings.
const COUNT: usize = 500;
/// Clauses of a rule.
const CLAUSES: usize = 14;

/// Words of which bookings and rules are made.
#[derive(Debug, Deserialize)]
pub(crate) struct Desk {
    guests: Vec<String>,
    /// Name, city and country.
    listings: Vec<[String; 3]>,
    channels: Vec<String>,
    statuses: Vec<String>,
    languages: Vec<String>,
    messages: Vec<String>,
    /// Subject, and two sentences.
    rules: Vec<[String; 3]>,
    clauses: Vec<String>,
}

impl Desk {
    /// Reads the words.
    ///
    /// # Errors
    /// The binary was built with a damaged file.
    pub(super) fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(include_str!("data/desk.json"))
    }

    /// Returns the bookings, the last arrival first.
    pub(super) fn bookings(&self) -> Vec<Value> {
        (0..COUNT).rev().map(|number| self.booking(number)).collect()
    }

    /// Returns all chunks of the rules with their relevance for a query, in the order of the handbook.
    pub(super) fn rules(&self, query: &str) -> Vec<Value> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let chunks = self.rules.iter().enumerate().map(|(at, [subject, first, second])| {
            let clauses: Vec<&str> = (at..at + CLAUSES).map(|at| nth(&self.clauses, at).as_str()).collect();
            let text = format!("{subject}. {first}. {second}. {}.", clauses.join(". "));
            let plain = text.to_lowercase();
            let hits: usize = words.iter().map(|word| plain.matches(word.as_str()).count()).sum();
            json!({"id": format!("rule-{:02}", at + 1), "score": hits as f64 / (hits + 4) as f64, "text": text})
        });
        chunks.collect()
    }

    fn booking(&self, number: usize) -> Value {
        let [listing, city, country] = nth(&self.listings, number);
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
                "body": nth(&self.messages, number + at),
            })
        });
        json!({
            "id": 40_000 + number,
            "status": nth(&self.statuses, number),
            "guestName": nth(&self.guests, number * 7),
            "arrivalDate": arrival,
            "departureDate": format!("2026-{month:02}-{:02}", day + nights),
            "nights": nights,
            "totalPrice": total,
            "currency": "EUR",
            "listingName": listing,
            "listingMapId": 100 + number % self.listings.len(),
            "channelName": nth(&self.channels, number),
            "guest": {
                "language": nth(&self.languages, number),
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
}

/// Returns an element of a list that repeats.
fn nth<T>(list: &[T], at: usize) -> &T {
    &list[at % list.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn bookings_are_in_order_and_have_ids_and_dates_of_their_own() {
        let all = Desk::read().expect("the file is whole").bookings();
        assert_eq!(all.iter().filter_map(|one| one["id"].as_u64()).collect::<BTreeSet<_>>().len(), COUNT);
        for one in &all {
            let (from, to) = (one["arrivalDate"].as_str(), one["departureDate"].as_str());
            assert!(from < to && to.is_some_and(|to| to[8..] < *"29"), "{one}");
        }
    }
}
