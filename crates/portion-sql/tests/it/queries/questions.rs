//! Realistic questions over generated documents, answered by the SQL that a model would write.
//!
//! The expected answers were computed from the same rules in another language, without SQL.

mod documents;

use documents::document;

use crate::common::answer_joined;

/// Document, question, statement and answer. `a+b` is document `a` with document `b` joined as its first letter.
const QUESTIONS: &[(&str, &str, &str, &str)] = &[
    ("bookings", "How many bookings are there?", "SELECT COUNT(*) AS n FROM items", r#"[{"n":500}]"#),
    (
        "bookings",
        "How many bookings per status?",
        "SELECT status, COUNT(*) AS n FROM items GROUP BY status ORDER BY status",
        r#"[{"status":"cancelled","n":100},{"status":"completed","n":100},{"status":"confirmed","n":100},{"status":"no_show","n":100},{"status":"pending","n":100}]"#,
    ),
    (
        "bookings",
        "Which three channels bring the most revenue?",
        "SELECT channel, ROUND(SUM(price.total)::numeric, 2) AS revenue FROM items GROUP BY channel ORDER BY revenue DESC LIMIT 3",
        r#"[{"channel":"Booking.com","revenue":149047.5},{"channel":"Airbnb","revenue":148484.71},{"channel":"Vrbo","revenue":147875.29}]"#,
    ),
    (
        "bookings",
        "What is the median price of a stay in euros?",
        "SELECT MEDIAN(price.total) AS median FROM items WHERE price.currency = 'EUR'",
        r#"[{"median":889.13}]"#,
    ),
    (
        "bookings",
        "What is the 90th percentile of the price?",
        "SELECT ROUND(PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY price.total), 2) AS p90 FROM items",
        r#"[{"p90":1563.47}]"#,
    ),
    (
        "bookings",
        "How much do prices vary?",
        "SELECT ROUND(STDDEV(price.total), 2) AS sd FROM items",
        r#"[{"sd":486.9}]"#,
    ),
    (
        "bookings",
        "How many arrivals per month?",
        "SELECT DATE_TRUNC('month', checkIn) AS month, COUNT(*) AS n FROM items GROUP BY 1 ORDER BY 1 LIMIT 3",
        r#"[{"month":"2025-01-01","n":42},{"month":"2025-02-01","n":42},{"month":"2025-03-01","n":42}]"#,
    ),
    (
        "bookings",
        "How many arrivals per quarter?",
        "SELECT EXTRACT(QUARTER FROM checkIn) AS q, COUNT(*) AS n FROM items GROUP BY q ORDER BY q",
        r#"[{"q":1,"n":126},{"q":2,"n":126},{"q":3,"n":125},{"q":4,"n":123}]"#,
    ),
    (
        "bookings",
        "How long is the average stay?",
        "SELECT ROUND(AVG(DATEDIFF(checkOut, checkIn)), 3) AS nights FROM items",
        r#"[{"nights":3.492}]"#,
    ),
    (
        "bookings",
        "Which bookings last six nights and are paid (first three)?",
        "SELECT id FROM items WHERE checkOut - checkIn = 6 AND paid ORDER BY id LIMIT 3",
        "[]",
    ),
    (
        "bookings",
        "How many nights were booked per channel?",
        "SELECT channel, SUM(DATEDIFF(day, checkIn, checkOut)) AS nights FROM items GROUP BY channel ORDER BY channel",
        r#"[{"channel":"Airbnb","nights":416},{"channel":"Booking.com","nights":583},{"channel":"Vrbo","nights":747}]"#,
    ),
    (
        "bookings",
        "What share of bookings is cancelled?",
        "SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE status = 'cancelled')::float / COUNT(*), 1) AS pct FROM items",
        r#"[{"pct":20.0}]"#,
    ),
    (
        "bookings",
        "How many are paid, how many not?",
        "SELECT COUNT_IF(paid) AS paid, COUNT_IF(NOT paid) AS unpaid FROM items",
        r#"[{"paid":250,"unpaid":250}]"#,
    ),
    (
        "bookings",
        "Which arrivals are in the week from 10 March?",
        "SELECT id FROM items WHERE checkIn >= DATE '2025-03-10' AND checkIn < DATE '2025-03-10' + INTERVAL '7 days' AND status ILIKE 'CONFIRMED' ORDER BY id LIMIT 4",
        r#"[{"id":51},{"id":111},{"id":171},{"id":231}]"#,
    ),
    (
        "bookings",
        "Which tags are used, and how often?",
        "SELECT value AS tag, COUNT(*) AS n FROM items, json_each(tags) GROUP BY tag ORDER BY tag",
        r#"[{"tag":"late","n":166},{"tag":"vip","n":333}]"#,
    ),
    (
        "bookings",
        "How many VIP bookings came from Portugal?",
        "SELECT COUNT(*) AS n FROM items WHERE LIST_CONTAINS(tags, 'vip') AND guest.country = 'PT'",
        r#"[{"n":83}]"#,
    ),
    (
        "bookings",
        "What is the dearest booking of each channel?",
        "SELECT channel, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY channel ORDER BY price.total DESC) AS rn FROM items) WHERE rn = 1 ORDER BY channel",
        r#"[{"channel":"Airbnb","id":499},{"channel":"Booking.com","id":500},{"channel":"Vrbo","id":498}]"#,
    ),
    (
        "bookings",
        "Which guests booked six times?",
        "SELECT guest.name AS name, COUNT(*) AS n FROM items GROUP BY name HAVING COUNT(*) >= 6 ORDER BY name LIMIT 3",
        r#"[{"name":"Guest 0","n":6},{"name":"Guest 1","n":6},{"name":"Guest 10","n":6}]"#,
    ),
    (
        "bookings",
        "What is in the notes, and how often?",
        "SELECT SPLIT_PART(notes, ';', 1) AS note, COUNT(*) AS n FROM items WHERE notes IS NOT NULL GROUP BY note",
        r#"[{"note":"Late arrival","n":50}]"#,
    ),
    (
        "bookings",
        "At which hours are bookings made most?",
        "SELECT HOUR(createdAt) AS h, COUNT(*) AS n FROM items GROUP BY h ORDER BY n DESC, h LIMIT 2",
        r#"[{"h":0,"n":21},{"h":1,"n":21}]"#,
    ),
    (
        "bookings",
        "How far ahead do guests book, at least and at most?",
        "SELECT MIN(lead) AS least, MAX(lead) AS most FROM (SELECT checkIn::date - createdAt::date AS lead FROM items)",
        r#"[{"least":365,"most":366}]"#,
    ),
    (
        "bookings",
        "Which currencies occur?",
        "SELECT STRING_AGG(DISTINCT price.currency, ', ' ORDER BY price.currency) AS c FROM items",
        r#"[{"c":"EUR, USD"}]"#,
    ),
    (
        "bookings",
        "Show three of the most expensive pending ones.",
        "SELECT TOP 3 id, price.total FROM items WHERE status = 'pending' ORDER BY price.total DESC",
        r#"[{"id":498,"price.total":1724.89},{"id":493,"price.total":1708.04},{"id":488,"price.total":1691.19}]"#,
    ),
    (
        "bookings",
        "What is the running revenue of the first bookings?",
        "SELECT id, ROUND(SUM(price.total) OVER (ORDER BY id), 2) AS total FROM items ORDER BY id LIMIT 3",
        r#"[{"id":1,"total":50.0},{"id":2,"total":103.37},{"id":3,"total":160.11}]"#,
    ),
    (
        "bookings",
        "Which columns are there, of kind boolean?",
        "SELECT name FROM fields WHERE table_name = 'items' AND kind = 'boolean'",
        r#"[{"name":"paid"}]"#,
    ),
    (
        "listings",
        "How many listings per city?",
        "SELECT city, COUNT(*) AS n FROM items GROUP BY city ORDER BY city",
        r#"[{"city":"Faro","n":6},{"city":"Lisboa","n":7},{"city":"Porto","n":7}]"#,
    ),
    (
        "listings",
        "What is the average price in Porto?",
        "SELECT AVG(price) AS p FROM items WHERE city = 'Porto'",
        r#"[{"p":59.5}]"#,
    ),
    (
        "listings",
        "Which listings allow pets and cost less than 55?",
        "SELECT listing_id, name FROM items WHERE pets = 'yes' AND price < 55 ORDER BY price",
        r#"[{"listing_id":100,"name":"Casa, 0"},{"listing_id":102,"name":"Casa, 2"},{"listing_id":104,"name":"Casa, 4"}]"#,
    ),
    (
        "listings",
        "Which become available in May?",
        "SELECT listing_id FROM items WHERE MONTH(available) = 5",
        r#"[{"listing_id":104},{"listing_id":113}]"#,
    ),
    (
        "listings",
        "What are the cheapest per city?",
        "SELECT city, MIN_BY(name, price) AS name FROM items GROUP BY city ORDER BY city",
        r#"[{"city":"Faro","name":"Casa, 2"},{"city":"Lisboa","name":"Casa, 1"},{"city":"Porto","name":"Casa, 0"}]"#,
    ),
    (
        "bookings+listings",
        "Which city earns most?",
        "SELECT l.city, ROUND(SUM(b.price.total), 2) AS revenue FROM items b JOIN l ON b.listingId = l.listing_id GROUP BY l.city ORDER BY revenue DESC LIMIT 1",
        r#"[{"city":"Lisboa","revenue":156187.5}]"#,
    ),
    (
        "bookings+listings",
        "Which listings that allow pets have the most cancellations?",
        "SELECT l.name, COUNT(*) AS n FROM items JOIN l ON items.listingId = l.listing_id WHERE l.pets = 'yes' AND status = 'cancelled' GROUP BY 1 ORDER BY n DESC, 1 LIMIT 2",
        r#"[{"name":"Casa, 16","n":25},{"name":"Casa, 6","n":25}]"#,
    ),
    (
        "log",
        "How many entries per level?",
        "SELECT level, COUNT(*) AS n FROM entries GROUP BY level ORDER BY n DESC, level",
        r#"[{"level":"INFO","n":240},{"level":"DEBUG","n":120},{"level":"ERROR","n":120},{"level":"WARN","n":120}]"#,
    ),
    (
        "log",
        "When did the first error occur, and where?",
        "SELECT start_line, time FROM entries WHERE level = 'error' ORDER BY time LIMIT 1",
        r#"[{"start_line":4,"time":"2026-03-01T06:00:03Z"}]"#,
    ),
    (
        "log",
        "How many errors have a stack trace?",
        "SELECT COUNT(*) AS n FROM entries WHERE severity = 'error' AND text LIKE '%IllegalStateException%'",
        r#"[{"n":40}]"#,
    ),
    (
        "log",
        "How many errors per minute?",
        "SELECT DATE_TRUNC('minute', time) AS minute, COUNT(*) AS n FROM entries WHERE level = 'ERROR' GROUP BY 1 ORDER BY 1 LIMIT 2",
        r#"[{"minute":"2026-03-01T06:00:00Z","n":12},{"minute":"2026-03-01T06:01:00Z","n":12}]"#,
    ),
    (
        "log",
        "What is the slowest request, and its duration?",
        r"SELECT REGEXP_EXTRACT(text, 'path=(\S+)') AS path, REGEXP_EXTRACT(text, 'ms=(\d+)')::int AS ms FROM entries ORDER BY ms DESC, number LIMIT 1",
        r#"[{"path":"/v1/bookings/7","ms":299}]"#,
    ),
    (
        "log",
        "How many requests per status code?",
        r"SELECT REGEXP_EXTRACT(text, 'status=(\d+)') AS status, COUNT(*) AS n FROM entries GROUP BY 1 ORDER BY 1",
        r#"[{"status":"200","n":360},{"status":"404","n":120},{"status":"500","n":120}]"#,
    ),
    (
        "log",
        "What is the 95th percentile of the duration per worker?",
        r"SELECT REGEXP_EXTRACT(text, 'worker-(\d)') AS w, PERCENTILE_DISC(0.95) WITHIN GROUP (ORDER BY REGEXP_EXTRACT(text, 'ms=(\d+)')::int) AS p95 FROM entries GROUP BY w ORDER BY w LIMIT 2",
        r#"[{"w":"0","p95":284},{"w":"1","p95":287}]"#,
    ),
    (
        "log",
        "Which entries mention booking 42 with status 500?",
        r"SELECT number FROM entries WHERE text ~ 'bookings/43\b' AND text ILIKE '%STATUS=500%' ORDER BY number LIMIT 2",
        r#"[{"number":44},{"number":94}]"#,
    ),
    (
        "events",
        "How many events per type?",
        "SELECT type, COUNT(*) AS n FROM items GROUP BY type ORDER BY type",
        r#"[{"type":"book","n":50},{"type":"login","n":50},{"type":"logout","n":50},{"type":"search","n":50}]"#,
    ),
    (
        "events",
        "How many events per day (first two)?",
        "SELECT to_timestamp(ts)::date AS day, COUNT(*) AS n FROM items GROUP BY day ORDER BY day LIMIT 2",
        r#"[{"day":"2026-01-01","n":24},{"day":"2026-01-02","n":24}]"#,
    ),
    (
        "events",
        "What is the longest search of each user (two users)?",
        "SELECT user, MAX(ms) AS ms FROM items WHERE type = 'search' GROUP BY user ORDER BY user LIMIT 2",
        r#"[{"user":"u0","ms":457},{"user":"u1","ms":469}]"#,
    ),
    (
        "events",
        "Which line has the first event of user u6?",
        r#"SELECT number FROM lines WHERE text LIKE '%"u6"%' LIMIT 1"#,
        r#"[{"number":7}]"#,
    ),
    (
        "service",
        "What is the memory limit?",
        "SELECT value FROM leaves WHERE key = 'mem'",
        r#"[{"value":"4Gi"}]"#,
    ),
    (
        "service",
        "Where does the word beta occur?",
        "SELECT path, type FROM leaves WHERE path LIKE '%beta%'",
        r#"[{"path":"/flags/beta","type":"boolean"}]"#,
    ),
    (
        "service",
        "How many nodes are there in all regions?",
        "SELECT SUM(value) AS n FROM leaves WHERE key = 'nodes'",
        r#"[{"n":8}]"#,
    ),
    (
        "service",
        "Which region has most nodes?",
        "SELECT _key, nodes FROM regions ORDER BY nodes DESC LIMIT 1",
        r#"[{"_key":"us","nodes":5}]"#,
    ),
    (
        "service",
        "What is the value of the variable DB_HOST?",
        "SELECT value FROM items('/service/env') WHERE key = 'DB_HOST'",
        r#"[{"value":"db.internal"}]"#,
    ),
    (
        "service",
        "Which settings are on?",
        "SELECT path FROM leaves WHERE type = 'boolean' AND value ORDER BY path",
        r#"[{"path":"/flags/beta"},{"path":"/regions/us/primary"}]"#,
    ),
    (
        "openapi",
        "Which paths can be posted to?",
        "SELECT _key AS path FROM paths WHERE post IS NOT NULL ORDER BY path",
        r#"[{"path":"/bookings"},{"path":"/listings"}]"#,
    ),
    (
        "openapi",
        "What is the summary of GET /bookings/{id}?",
        "SELECT get.summary AS s FROM items('/paths') WHERE _key = '/bookings/{id}'",
        r#"[{"s":"Reads a booking"}]"#,
    ),
    (
        "openapi",
        "Which schemas have a property status?",
        "SELECT DISTINCT SPLIT_PART(path, '/', 4) AS schema FROM leaves WHERE path LIKE '/components/schemas/%/properties/status/%' ORDER BY 1",
        r#"[{"schema":"Booking"}]"#,
    ),
    (
        "openapi",
        "Which operations are deprecated?",
        "SELECT SPLIT_PART(path, '/', 4) AS method, REPLACE(SPLIT_PART(path, '/', 3), '~1', '/') AS route FROM leaves WHERE key = 'deprecated' AND value",
        r#"[{"method":"get","route":"/listings"}]"#,
    ),
    (
        "guide",
        "Which sections does the guide have?",
        "SELECT title FROM sections WHERE level = 2",
        r#"[{"title":"Arrival"},{"title":"Heating"},{"title":"Bins"}]"#,
    ),
    (
        "guide",
        "Where is the code of the door explained?",
        "SELECT title, start_line FROM sections WHERE is_leaf AND own_text ILIKE '%door code%'",
        r#"[{"title":"Keys","start_line":7}]"#,
    ),
    (
        "guide",
        "How many lines mention bins?",
        "SELECT COUNT(*) AS n FROM lines WHERE text ILIKE '%bin%'",
        r#"[{"n":3}]"#,
    ),
];

#[test]
fn questions_are_answered() {
    let mut failures = Vec::new();
    for (documents, question, sql, expect) in QUESTIONS {
        let (main, other) = documents.split_once('+').unwrap_or((documents, ""));
        let joined: Vec<(&str, String)> =
            if other.is_empty() { Vec::new() } else { vec![(&other[..1], document(other))] };
        let joined: Vec<(&str, &str)> = joined.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let answered = match answer_joined(&document(main), &joined, sql) {
            Ok(answered) => answered.json,
            Err(error) => format!("{error}; {}", error.advice()),
        };
        if answered != *expect {
            failures.push(format!("{question}\n  {sql}\n  {answered}\n  expected {expect}"));
        }
    }
    assert!(QUESTIONS.len() >= 40 && failures.is_empty(), "{}", failures.join("\n"));
}
