//! Payloads, made up but like those that tools return, and the same in every run.

use std::fmt::Write as _;

use portion_core::payload::{Block, Content, Payload};

/// A small generator of numbers that look random: the constants are Knuth's for MMIX.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

const PLACES: [&str; 8] =
    ["Springfield", "Cedar Falls", "Anchorage", "San José", "Boise", "New Haven", "Doña Ana", "Lincoln"];
const KINDS: [&str; 4] = ["Elementary", "Middle", "High School", "Academy"];
const STREETS: [&str; 5] = ["Main St", "2nd Avenue", "N Oak Blvd", "County Road 12", "College Dr"];
const NOTES: [&str; 4] = [
    "",
    "Reopened after renovation; see \"Facilities plan 2021\".",
    "Merged with a neighbouring school.\nRecords before 2014 are under the former identifier.",
    "C:\\exports\\ccd",
];
/// Counts of students by grade and group, as the tables of the Common Core of Data name them.
const COUNTS: [&str; 40] = [
    "pk",
    "kg",
    "g01",
    "g02",
    "g03",
    "g04",
    "g05",
    "g06",
    "g07",
    "g08",
    "g09",
    "g10",
    "g11",
    "g12",
    "g13",
    "ug",
    "ae",
    "am",
    "asian",
    "hisp",
    "black",
    "white",
    "pacific",
    "tr",
    "toteth",
    "frelch",
    "redlch",
    "totfrl",
    "fte",
    "stutera",
    "member",
    "migrnt",
    "lep",
    "iep",
    "male",
    "female",
    "unknown",
    "section504",
    "homeless",
    "foster",
];

/// A JSON array of school records of about 70 fields and 1.4 KB each, of at least so many bytes.
pub(crate) fn schools(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 4096);
    write_schools(bytes, &mut |part| text.push_str(part));
    text
}

/// A JSON-RPC line whose one text block holds that array. Written straight away, so that nothing larger was
/// ever on the heap.
pub(crate) fn line_of_schools(bytes: usize) -> String {
    let mut line = String::with_capacity(bytes + bytes / 4);
    line.push_str(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""#);
    write_schools(bytes, &mut |part| portion_json::scan::escape_into(part, &mut line));
    line.push_str(r#""}],"isError":false}}"#);
    line
}

fn write_schools(bytes: usize, write: &mut dyn FnMut(&str)) {
    let mut n = Numbers(1);
    let mut record = String::new();
    let mut written = 0;
    for index in 0_u64.. {
        record.clear();
        record.push(if index == 0 { '[' } else { ',' });
        school(&mut record, index, &mut n);
        write(&record);
        written += record.len();
        if written >= bytes {
            break;
        }
    }
    write("]");
}

fn school(out: &mut String, index: u64, n: &mut Numbers) {
    let (place, kind) = (n.one_of(&PLACES), n.one_of(&KINDS));
    let (state, zip) = (n.below(56) + 1, n.below(99_999));
    let _ = write!(
        out,
        r#"{{"ncessch":"{state:02}{index:010}","leaid":"{state:02}{:05}","school_name":"{place} {kind} {}","#,
        n.below(99_999),
        n.below(400)
    );
    let street = n.one_of(&STREETS);
    let _ = write!(
        out,
        r#""address":{{"street":"{} {street}","city":"{place}","state":"{state:02}","zip":"{zip:05}","zip4":null}},"#,
        n.below(9_999)
    );
    let _ = write!(
        out,
        r#""phone":"({:03}) 555-{:04}","website":"https://www.example.org/schools/{index}","status":"{}","#,
        n.below(900) + 100,
        n.below(9_999),
        n.one_of(&["open", "open", "open", "closed", "new"])
    );
    let _ = write!(
        out,
        r#""type":{},"level":"{kind}","charter":{},"magnet":{},"virtual":"NOTVIRTUAL","titleI":{},"#,
        n.below(4) + 1,
        n.below(2) == 0,
        n.below(2) == 0,
        n.below(6)
    );
    let _ = write!(
        out,
        r#""latitude":{}.{:06},"longitude":-{}.{:06},"locale":"{}","county":"{place} County","cbsa":"{:05}","#,
        n.below(24) + 25,
        n.below(999_999),
        n.below(57) + 67,
        n.below(999_999),
        n.below(33) + 10,
        n.below(49_999)
    );
    let mut note = String::new();
    portion_json::scan::escape_into(n.one_of(&NOTES), &mut note);
    let _ = write!(
        out,
        r#""notes":"{note}","schoolYear":"2022-2023","updated":"2023-0{}-1{}","#,
        n.below(9) + 1,
        n.below(9)
    );
    out.push_str(r#""enrollment":{"#);
    for (i, name) in COUNTS.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let _ = match n.below(9) {
            0 => write!(out, r#"{comma}"{name}":null"#),
            _ => write!(out, r#"{comma}"{name}":{}"#, n.below(900)),
        };
    }
    let _ = write!(
        out,
        r#"}},"staff":{{"teachers":{}.{},"aides":{},"counselors":{},"librarians":{}}},"grades":["{}","{}"],"source":"Common Core of Data, Public Elementary/Secondary School Universe"}}"#,
        n.below(80),
        n.below(10),
        n.below(30),
        n.below(5),
        n.below(3),
        n.one_of(&["PK", "KG", "06"]),
        n.one_of(&["05", "08", "12"])
    );
}

/// A JSON array of orders of about 230 bytes each, of at least so many bytes.
pub(crate) fn orders(bytes: usize) -> String {
    let mut n = Numbers(3);
    let mut text = String::with_capacity(bytes + 4096);
    for index in 0_u64.. {
        text.push(if index == 0 { '[' } else { ',' });
        let _ = write!(
            text,
            r#"{{"id":{},"customer":"{} {}","status":"{}","total":{}.{:02},"createdAt":"2026-0{}-1{}T08:15:00Z","city":"{}","email":"c{index}@example.org","items":{},"gift":{},"note":"{}"}}"#,
            10_000 + index,
            n.one_of(&["Ada", "Grace", "Edsger", "Barbara", "Donald"]),
            n.one_of(&["Lovelace", "Hopper", "Dijkstra", "Liskov", "Knuth"]),
            n.one_of(&["paid", "open", "shipped", "refunded"]),
            n.below(900),
            n.below(100),
            n.below(9) + 1,
            n.below(9),
            n.one_of(&PLACES),
            n.below(9) + 1,
            n.below(5) == 0,
            n.one_of(&["leave at the door", "call first", "fragile", "second floor, no lift"])
        );
        if text.len() >= bytes {
            break;
        }
    }
    text.push(']');
    text
}

/// A service's log of at least so many bytes, with a stack trace now and then.
pub(crate) fn log(bytes: usize) -> String {
    let mut n = Numbers(2);
    let mut text = String::with_capacity(bytes + 4096);
    let mut second = 0;
    while text.len() < bytes {
        second += n.below(3);
        let (hours, minutes) = (second / 3_600 % 24, second / 60 % 60);
        let level = n.one_of(&["INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"]);
        let _ = writeln!(
            text,
            "2024-11-{:02}T{hours:02}:{minutes:02}:{:02}.{:03}Z {level:<5} [worker-{}] handled request {:08x} in {} ms",
            second / 86_400 % 28 + 1,
            second % 60,
            n.below(1_000),
            n.below(16),
            n.below(1 << 31),
            n.below(2_000)
        );
        if level == "ERROR" {
            text.push_str("java.lang.IllegalStateException: connection is closed\n");
            for frame in 0..n.below(12) {
                let _ = writeln!(text, "\tat org.example.pool.Pool.take{frame}(Pool.java:{})", n.below(900));
            }
        }
    }
    text
}

/// A payload of one text block.
pub(crate) fn payload(text: String) -> Payload {
    let block = Block::new("/content/0/text", Content::Text(text));
    Payload { blocks: vec![block], ..Payload::default() }
}
