//! Payloads like those of a booking system and its machines.

use std::fmt::Write as _;

/// Returns a list of bookings.
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

/// Returns one booking of more than 2,000 tokens.
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

/// Returns a rental property in the format of a rentals API, of more than 2,000 tokens.
pub(crate) fn rental() -> String {
    let list = |make: &dyn Fn(usize) -> String, count| (0..count).map(make).collect::<Vec<_>>().join(",");
    let fee = |i: usize| format!("{{\"name\":\"Fee {i}\",\"amount\":{}.50,\"taxable\":true}}", i * 5);
    let day = |i: usize| format!("{{\"date\":\"2024-06-{:02}\",\"price\":{}}}", i % 30 + 1, 100 + i);
    let amenity = |i: usize| format!("{{\"id\":{i},\"label\":\"Amenity {i}\"}}");
    format!(
        "{{\"status\":\"success\",\"result\":{{\"id\":40160,\"name\":\"Lake House\",\"internalCode\":\"LH-1\",\
         \"description\":\"{}\",\"city\":\"Annecy\",\"maxGuests\":6,\"licence\":null,\
         \"price\":140.00,\"cleaningFee\":60.00,\"deposit\":null,\"fees\":[{}],\
         \"calendar\":[{}],\"amenities\":[{}],\
         \"_links\":{{\"self\":{{\"href\":\"/v1/listings/40160\"}},\"calendar\":{{\"href\":\"/v1/listings/40160/calendar\"}}}},\
         \"debug\":{{\"queryMs\":[{}],\"shard\":\"eu-3\"}}}}}}",
        "A house by the lake with a garden. ".repeat(60).trim_end(),
        list(&fee, 20),
        list(&day, 90),
        list(&amenity, 20),
        list(&|i| (i * 7).to_string(), 60),
    )
}

/// Returns search results with a larger list of something else beside them.
pub(crate) fn results(count: usize) -> String {
    let result = |i: usize| {
        format!(
            "{{\"_links\":{{\"self\":{{\"href\":\"/v1/orders/{i}\"}}}},\"id\":{i},\"name\":\"Order {i}\",\"created\":\"2024-05-{:02}\",\
             \"parent\":null,\"total\":{}.50,\"trace\":{{\"span\":\"{:016x}\",\"sampled\":false}}}}",
            i * 7 % 28 + 1,
            i * 3,
            i * 99_991,
        )
    };
    let suggestion = |i: usize| format!("{{\"word\":\"{}\",\"n\":{i}}}", "suggestion ".repeat(30));
    let list = |make: &dyn Fn(usize) -> String, count| (0..count).map(make).collect::<Vec<_>>().join(",");
    format!(
        "{{\"debug\":{{\"took\":12}},\"count\":{count},\"data\":{{\"results\":[{}]}},\"suggestions\":[{}]}}",
        list(&result, count),
        list(&suggestion, 40),
    )
}

/// Returns a log with occasional stack traces.
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

/// Returns a document with headings.
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
