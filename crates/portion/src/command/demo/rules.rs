//! House rules of the rental desk, as a retrieval tool returns them: chunks with scores. They are generated.
use serde_json::{Value, json};

/// Subject, number in the handbook, and two sentences of each rule.
const RULES: [(&str, &str, &str); 24] = [
    (
        "Late arrival",
        "Guests who arrive after ten in the evening use the key box",
        "The code is sent at noon of the day of arrival, and never before the deposit is paid",
    ),
    (
        "Early arrival",
        "A room is ready at three in the afternoon",
        "An earlier arrival is free of charge if the cleaning has ended and nobody left the night before",
    ),
    (
        "Deposit",
        "The deposit is held on the card two days before the arrival",
        "It is released a week after the departure, less what was broken",
    ),
    (
        "Cancellation",
        "A booking can be cancelled free of charge until fourteen days before the arrival",
        "Later, half of the price is kept; on the last two days, all of it",
    ),
    (
        "Pets",
        "One dog or cat may stay where the listing says so",
        "Pets are announced with the booking, and a late announcement costs the fee twice",
    ),
    (
        "Smoking",
        "Nobody smokes inside, on balconies included",
        "Where the smell stays, the special cleaning is charged to the deposit",
    ),
    (
        "Noise",
        "Quiet hours are from ten in the evening to eight in the morning",
        "After the second complaint of neighbours, the stay can be ended without refund",
    ),
    (
        "Parties",
        "More persons than booked may not be in the house after ten",
        "A party without permission ends the stay, and the deposit is kept",
    ),
    (
        "Parking",
        "One car per listing has a place, with the number of the listing",
        "A second car is announced before the arrival and pays by the night",
    ),
    (
        "Keys",
        "Two keys are handed out, and both come back",
        "A lost key means a new lock, which costs the deposit up to its full amount",
    ),
    (
        "Cleaning",
        "The house is left swept, and dishes are washed",
        "More than two hours of extra cleaning are charged by the hour",
    ),
    (
        "Damage",
        "Damage is reported on the day on which it happens",
        "What is reported at once and is small is paid by the desk",
    ),
    (
        "Children",
        "Children under two years stay free of charge and are not counted",
        "A cot is put up if it is asked for two days before the arrival",
    ),
    (
        "Payment",
        "A third of the price is due with the booking",
        "The rest is due thirty days before the arrival; without it, the booking lapses after three reminders",
    ),
    (
        "Refunds",
        "Refunds go to the card that paid",
        "They take up to ten days, and the desk confirms each of them in writing",
    ),
    (
        "Invoices",
        "An invoice to a company needs the tax number before the departure",
        "Later changes of an invoice cost a fee",
    ),
    (
        "City tax",
        "The city tax is paid with the rest of the price",
        "Children and guests on business are exempt where the city says so",
    ),
    (
        "Departure",
        "Guests leave until ten in the morning",
        "A late departure until two is possible if nobody arrives, for half a night",
    ),
    (
        "Luggage",
        "Luggage can stay at the desk on the day of departure",
        "The desk closes at six in the evening, and opens for nobody later",
    ),
    (
        "Heating",
        "Rooms are heated to twenty-one degrees from October to April",
        "Portable heaters are not allowed, because of the old wiring",
    ),
    (
        "Pool",
        "The pool is open from May to September, from eight to eight",
        "Children swim with an adult beside the pool, and glass stays inside",
    ),
    (
        "Internet",
        "The name of the network and its password are in the folder on the table",
        "The desk restarts it from afar if it fails, also at night",
    ),
    (
        "Complaints",
        "A complaint is made during the stay, so that it can be mended",
        "Complaints after the departure are answered, but lead to no refund",
    ),
    (
        "Force majeure",
        "Where a storm or a strike makes a journey impossible, the dates are moved once free of charge",
        "A new date lies within twelve months",
    ),
];
const CLAUSES: [&str; 6] = [
    "The desk writes down every exception with the name of the person who granted it, so that two answers to one question never differ",
    "If the rule and the text of a listing contradict each other, the text of the listing holds for bookings made before the rule was changed",
    "In doubt, the person at the desk decides for the guest, up to an amount of fifty euros, and tells the owner on the same day",
    "Agencies that book for others pass the rule on, and are liable for guests whom they have not told about it",
    "For stays of more than twenty-eight nights, the owner can agree on something else in the contract, which then comes first",
    "The rule holds on every channel; where a channel has a stricter one, the stricter one holds, and the guest sees both before the booking",
];

/// Returns all chunks with their relevance for a query, in the order of the handbook.
pub(super) fn rules(query: &str) -> Vec<Value> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let chunks = RULES.iter().enumerate().map(|(at, (subject, first, second))| {
        let clauses: Vec<&str> = (0..14).map(|part| CLAUSES[(at + part) % CLAUSES.len()]).collect();
        let text = format!("{subject}. {first}. {second}. {}.", clauses.join(". "));
        let plain = text.to_lowercase();
        let hits: usize = words.iter().map(|word| plain.matches(word.as_str()).count()).sum();
        json!({"id": format!("rule-{:02}", at + 1), "score": hits as f64 / (hits + 4) as f64, "text": text})
    });
    chunks.collect()
}
