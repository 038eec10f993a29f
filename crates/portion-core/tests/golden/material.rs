//! Payloads made by hand, like those of a booking system and its machines.

use std::fmt::Write as _;

/// A list of bookings.
pub(crate) fn bookings(count: usize) -> String {
    let booking = |i: usize| {
        format!(
            "{{\"id\":{i},\"status\":\"{}\",\"guest\":{{\"name\":\"Guest {i}\",\"email\":\"g{i}@example.org\"}},\
             \"nights\":{},\"total\":{}.50,\"notes\":\"Late arrival. {}\",\"tags\":[\"web\",\"flex\"]}}",
            ["confirmed", "pending"][i % 2],
            i % 7 + 1,
            i * 40,
            "Asked for a quiet room with a view of the lake. ".repeat(i % 4),
        )
    };
    format!("[{}]", (1..=count).map(booking).collect::<Vec<_>>().join(","))
}

/// One booking of more than 2,000 tokens.
pub(crate) fn booking() -> String {
    let payment = |i: usize| {
        format!(
            "{{\"date\":\"2024-05-{:02}\",\"amount\":{}.25,\"method\":\"card\",\"reference\":\"PAY-{i:05}\"}}",
            i % 28 + 1,
            i * 10
        )
    };
    let event = |i: usize| {
        format!(
            "{{\"at\":\"2024-04-{:02}T10:00:00Z\",\"who\":\"desk\",\"what\":\"Guest called about parking, call {i}.\"}}",
            i % 28 + 1
        )
    };
    let list = |make: &dyn Fn(usize) -> String, count| (0..count).map(make).collect::<Vec<_>>().join(",");
    format!(
        "{{\"id\":\"BK-4711\",\"status\":\"confirmed\",\
         \"guest\":{{\"id\":99,\"name\":\"Ada Byron\",\"email\":\"ada@example.org\",\"phone\":\"+44 20 7946 0000\"}},\
         \"dates\":{{\"checkIn\":\"2024-06-01\",\"checkOut\":\"2024-06-08\",\"nights\":7}},\
         \"property\":{{\"id\":12,\"name\":\"Lake House\",\"city\":\"Annecy\",\"rooms\":4}},\
         \"financials\":{{\"currency\":\"EUR\",\"total\":2450.00,\"balance\":450.00,\"payments\":[{}]}},\
         \"history\":[{}],\
         \"notes\":\"{}\"}}",
        list(&payment, 40),
        list(&event, 40),
        "The guest brings two dogs and has asked for the ground floor. ".repeat(20).trim_end(),
    )
}

/// A log, a stack trace now and then.
pub(crate) fn log(lines: usize) -> String {
    let mut out = String::new();
    for i in 0..lines {
        let _ = match i % 50 {
            17 => writeln!(out, "2024-05-01 10:{:02}:{:02} ERROR job {i} failed", i / 60 % 60, i % 60),
            18 | 19 => writeln!(out, "\tat org.example.Job.run(Job.java:{i})"),
            _ => writeln!(out, "2024-05-01 10:{:02}:{:02} INFO  job {i} done", i / 60 % 60, i % 60),
        };
    }
    out
}

/// A document with headings.
pub(crate) fn paper() -> String {
    let section = |title: &str, sentences: usize| {
        format!("## {title}\n\n{}\n\n", "We measured what a reply costs. ".repeat(sentences).trim_end())
    };
    format!(
        "# On Portions\n\n{}{}{}",
        section("Introduction", 200),
        section("Method", 12),
        section("Results", 300)
    )
}
