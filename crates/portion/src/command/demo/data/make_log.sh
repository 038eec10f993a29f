#!/bin/bash
# Makes server.log.zst, the log behind `portion demo`: what a real PostgreSQL 15 wrote while a small
# school registry was used, misused and maintained. Nothing in it is invented or edited.
#
#   PGBIN=/usr/lib/postgresql/15/bin ./make_log.sh       (not as root; needs zstd; about two minutes)
#
# The server listens on an abstract Unix socket only, so no path of the machine enters the log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=$(mktemp -d)
PGBIN=${PGBIN:-/usr/lib/postgresql/15/bin}
OUT=${OUT:-$here/server.log.zst}
trap '"$PGBIN/pg_ctl" -D "$home/db" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$home"' EXIT
export PGHOST=@school PGDATABASE=school PGUSER=app PGTZ=UTC LC_ALL=C.UTF-8

"$PGBIN/initdb" -D "$home/db" -U admin -E UTF8 --auth=trust >/dev/null
cat >>"$home/db/postgresql.conf" <<'CONF'
listen_addresses = ''
unix_socket_directories = '@school'
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %q%u@%d '
log_statement = 'ddl'
log_min_duration_statement = 20
log_min_duration_sample = 1
log_statement_sample_rate = 0.5
log_connections = on
log_disconnections = on
log_lock_waits = on
log_temp_files = 0
log_checkpoints = on
log_autovacuum_min_duration = 0
log_error_verbosity = default
deadlock_timeout = 60ms
lock_timeout = 400ms
statement_timeout = 3s
checkpoint_timeout = 30s
autovacuum_naptime = 7s
work_mem = '64kB'
max_connections = 14
CONF
cat >"$home/db/pg_hba.conf" <<'HBA'
local school app trust
local school registrar trust
local all admin trust
local all intruder reject
HBA

start() { "$PGBIN/pg_ctl" -D "$home/db" -l "$home/server.log" -w start >/dev/null; }
stop() { "$PGBIN/pg_ctl" -D "$home/db" -m "${1:-fast}" -w stop >/dev/null; }
as() { "$PGBIN/psql" -X -q -U "$1" -d "${2:-school}" -f - >/dev/null 2>&1 || true; }

start
"$PGBIN/psql" -X -q -U admin -d postgres -c 'create role app login' -c 'create role registrar login' \
    -c 'create role intruder login' -c 'create database school owner app' >/dev/null
as app <<'SQL'
create table student (id int primary key, name text not null, born date not null, email text unique,
    balance numeric(9,2) not null default 0 check (balance >= -500));
create table course (id int primary key, title text not null, seats int not null check (seats >= 0), term text not null);
create table enrolment (student int not null references student, course int not null references course,
    grade numeric(2,1) check (grade between 0 and 4), at timestamptz not null default clock_timestamp(),
    primary key (student, course));
create table payment (id bigserial primary key, student int not null references student, amount numeric(9,2) not null,
    note text, at timestamptz not null default clock_timestamp());
insert into student select i, 'Student ' || i, date '1999-01-01' + i % 2500, 's' || i || '@example.edu', 200 from generate_series(1, 20000) i;
insert into course select i, 'Course ' || i, 30 + i % 40, 'fall' from generate_series(1, 300) i;
create function charge(who int, fee numeric) returns numeric language plpgsql as $$
declare rest numeric;
begin
    update student set balance = balance - fee where id = who returning balance into rest;
    insert into payment (student, amount, note) values (who, -fee, 'tuition');
    return rest;
end $$;
create function take_seat(which int) returns void language plpgsql as $$
begin
    update course set seats = seats - 1 where id = which;
    if not found then
        raise exception 'course % is not offered this term', which
            using errcode = 'P0002', detail = 'The catalogue of the term has no such course.',
                  hint = 'List the courses of the term first.';
    end if;
end $$;
create function enrol(who int, which int, fee numeric) returns numeric language plpgsql as $$
begin
    perform take_seat(which);
    insert into enrolment (student, course) values (who, which);
    return charge(who, fee);
end $$;
create function transcript(who int) returns table (title text, grade numeric) language plpgsql as $$
begin
    raise warning 'transcript of student % is unofficial', who using hint = 'Ask the registrar for a sealed copy.';
    return query select c.title, e.grade from enrolment e join course c on c.id = e.course where e.student = who;
end $$;
grant select on student, course to registrar;
analyze student, course;
SQL

cat >"$home/report.sql" <<'SQL'
\set low random(1, 19000)
select c.term, c.title, count(*) as students, avg(s.balance)::numeric(9,2) as balance
    from enrolment e
    join course c on c.id = e.course
    join student s on s.id = e.student
    where s.id between :low and :low + 4000
    group by c.term, c.title
    order by students desc, c.title
    limit 20;
SQL
cat >"$home/transcript.sql" <<'SQL'
\set who random(1, 20000)
select * from transcript(:who);
SQL
# Two clerks who change the same few students in opposite orders: lock waits, deadlocks, timeouts.
cat >"$home/clerk.sql" <<'SQL'
\set a random(1, 6)
\set b random(1, 6)
\sleep 20 ms
begin;
update student set balance = balance + 1 where id = :a;
\sleep 40 ms
update student set balance = balance - 1 where id = :b;
commit;
SQL
reports() { # seconds, transactions a second, clients
    PGAPPNAME=reports "$PGBIN/pgbench" -n -T "$1" -R "$2" -c "$3" -j 1 \
        -f "$home/report.sql@3" -f "$home/transcript.sql@2" >/dev/null 2>&1 || true
}
# A student at the portal: now and then a course that is not there, a card that is refused, a seat taken twice.
visit() {
    local who=$((RANDOM % 20000 + 1)) step
    for step in $(seq $((RANDOM % 4 + 1))); do
        local which=$((RANDOM % 306 + 1)) fee=$((RANDOM % 180 + 20))
        case $((RANDOM % 6)) in
        0 | 1 | 2) echo "select enrol($who, $which, $fee);" ;;
        3) echo "select * from transcript($who);" ;;
        4) echo "insert into payment (student, amount, note) values ($((who + RANDOM % 900)), $fee, 'card');" ;;
        5) printf 'update enrolment\n   set grade = %s\n where student = %s\n   and course between %s and %s;\n' \
            "$((RANDOM % 5)).$((RANDOM % 10))" "$who" 1 "$which" ;;
        esac
    done | PGAPPNAME=portal "$PGBIN/psql" -X -q -f - >/dev/null 2>&1 || true
}
visits() { for _ in $(seq "$1"); do visit; sleep "0.0$((RANDOM % 10))"; done; }
clerks() { # seconds
    PGAPPNAME=clerk "$PGBIN/pgbench" -n -T "$1" -c 3 -j 1 -f "$home/clerk.sql" >/dev/null 2>&1 || true
}

mistakes() {
    as app <<'SQL'
insert into student values (1, 'Twice', '2001-01-01', 'twice@example.edu');
insert into enrolment values (99999, 1);
insert into payment (student, amount) values (7, 1e12);
update enrolment set grade = 7.5 where student = 3;
select nmae from student where id = 5;
select s.name, s.balance,
       case when s.balance < 0 then 'owes' else 'clear' end as status
  from students s
 where s.id = 12
 order by s.name;
select transcript('twelve');
select to_date('31.02.2026', 'DD.MM.YYYY');
select 100 / (balance - balance) from student where id = 9;
do $$
declare r record;
begin
    for r in select id, seats from course order by id limit 40 loop
        perform take_seat(r.id + 290);
    end loop;
end $$;
delete from course where id between 1 and 20;
alter table student add column born date;
select pg_sleep(4);
select string_agg(a.name || b.name, ',' order by b.name) from student a join student b on b.id % 50 = a.id % 50 where a.id < 60;
insert into student (id, name, born, email) values
    (20001, 'Ana', '2003-02-30', 'ana@example.edu'),
    (20002, 'Ben', '2003-03-01', 'ben@example.edu');
SQL
    as registrar <<'SQL'
update student set balance = 0 where id = 44;
drop table payment;
select * from payment where student = 44
SQL
    as intruder </dev/null
    as app library </dev/null
    as nobody </dev/null
}

for round in 1 2 3 4; do
    reports 20 $((round % 2 * 5 + 4)) 3 &
    visits 180 &
    visits 180 &
    clerks 4 &
    mistakes
    as app <<'SQL'
vacuum (analyze) payment;
create index concurrently if not exists payment_at on payment (at);
reindex table enrolment;
SQL
    wait
    # more clients than the server takes
    PGAPPNAME=reports "$PGBIN/pgbench" -n -T 1 -c 16 -j 2 -f "$home/transcript.sql" >/dev/null 2>&1 || true
    [ "$round" != 2 ] || { stop immediate; start; }
done
stop fast

if grep -nE "(^|[^A-Za-z])/[a-z]+/|\b$(hostname)\b" "$home/server.log"; then
    echo "the log names this machine" >&2
    exit 1
fi
zstd --ultra -22 -q -f "$home/server.log" -o "$OUT"
echo "$(wc -l <"$home/server.log") lines, $(wc -c <"$home/server.log") bytes, $(wc -c <"$OUT") compressed"
