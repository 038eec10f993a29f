#!/bin/sh
# Writes the files that the examples in these pages are about into the current directory.
# Nothing is random: everybody gets the same bytes, so everybody gets the same replies.
set -eu

# A list: 500 bookings, verbose enough for 50 of them not to fit a reply.
seq 1 500 | awk '
    BEGIN { split("confirmed pending cancelled completed", status, " "); printf "{\"status\":\"ok\",\"bookings\":[" }
    {
        printf "%s\n  {\"id\": %d, \"status\": \"%s\", \"created\": \"2026-%02d-%02d\",", (NR > 1 ? "," : ""), $1,
            status[$1 % 4 + 1], $1 % 12 + 1, $1 % 28 + 1
        printf " \"guest\": {\"name\": \"Guest %d\", \"email\": \"guest%d@example.org\"},", $1 * 37 % 400, $1 * 37 % 400
        printf " \"nights\": %d, \"price\": {\"total\": %d.50, \"currency\": \"EUR\"},", $1 % 9 + 1, ($1 % 9 + 1) * 94
        printf " \"property\": {\"name\": \"Lakeside House %d\", \"city\": \"Annecy\", \"country\": \"FR\"},", $1 % 30
        printf " \"notes\": \"The guest arrives late in the evening and asks for the key to be left in the box. "
        printf "A cot is needed. The parking space was confirmed by telephone.\"}"
    }
    END { print "\n]}" }' > bookings.json

# One object of several sections.
awk 'BEGIN {
    printf "{\"id\": 4711, \"status\": \"confirmed\", \"guest\": {\"name\": \"Ada Byron\", \"email\": \"ada@example.org\"},"
    printf " \"dates\": {\"arrival\": \"2026-07-04\", \"departure\": \"2026-07-18\"},"
    printf " \"property\": {\"name\": \"Lakeside House 7\", \"city\": \"Annecy\"},"
    printf " \"financial\": {\"currency\": \"EUR\", \"total\": 1880.00, \"lines\": ["
    for (i = 1; i <= 40; i++)
        printf "%s{\"day\": %d, \"text\": \"night\", \"net\": %d.10, \"tax\": 4.70}", (i > 1 ? "," : ""), i, 42 + i % 5
    printf "]}, \"messages\": ["
    for (i = 1; i <= 30; i++)
        printf "%s{\"from\": \"%s\", \"text\": \"Message %d: thank you, we will be there before six.\"}", (i > 1 ? "," : ""),
            (i % 2 ? "guest" : "host"), i
    printf "], \"house_rules\": \""
    for (i = 1; i <= 30; i++) printf "Rule %d: please close the shutters when it storms. ", i
    print "\"}"
}' > booking.json

# A log of 3,000 lines, entries of more than one line among them.
seq 1 2400 | awk '{
    stamp = sprintf("2026-03-01T%02d:%02d:%02dZ", $1 / 600 + 6, $1 / 10 % 60, $1 % 60)
    if ($1 % 12) printf "%s INFO request id=%d path=/bookings/%d status=200 ms=%d\n", stamp, $1, $1 * 7 % 500, $1 % 90
    else printf "%s ERROR request id=%d failed\njava.lang.IllegalStateException: no rate\n\tat booking.Rates.find(Rates.java:42)\n\tat booking.Price.of(Price.java:17)\n", stamp, $1
}' > server.log

# A document with headings.
awk 'BEGIN {
    print "# House guide\n\nHow to arrive, how to stay, how to leave.\n"
    split("Arrival|Heating|Boats|Bins|Departure", name, "|")
    for (i = 1; i <= 5; i++) {
        print "## " name[i] "\n"
        for (p = 1; p <= 9; p++) {
            printf "%s, paragraph %d. ", name[i], p
            for (s = 1; s <= 5; s++) printf "Sentence %d says what there is to say about it, and no more. ", s
            print "\n"
        }
    }
}' > guide.md

# What a retrieval brings: 80 passages with scores, in no order.
seq 1 80 | awk '
    BEGIN { printf "{\"query\":\"arrival\",\"chunks\":[" }
    {
        printf "%s\n{\"id\":\"guide-%d\",\"score\":%d.%02d,\"text\":\"Passage %d.", (NR > 1 ? "," : ""), $1, $1 * 7 % 19, $1, $1
        for (s = 1; s <= 1 + $1 * 5 % 11; s++) printf " Guests who come after six find the key in the box beside the door."
        printf "\"}"
    }
    END { print "\n]}" }' > passages.json

# An MCP server whose tool `search` returns the passages.
cat > passages-server.sh <<'SERVER'
while read -r message; do
    case $message in
    *'"initialize"'*)
        result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"passages","version":"1"}}' ;;
    *'"tools/call"'*) result="{\"content\":[],\"structuredContent\":$(tr -d '\n' < passages.json)}" ;;
    *) continue ;;
    esac
    id=${message#*'"id":'}
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "${id%%,*}" "$result"
done
SERVER

# Small enough to be left alone.
printf '[{"id": 1, "status": "confirmed"},\n {"id": 2, "status": "pending"}]\n' > small.json
