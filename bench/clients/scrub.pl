#!/usr/bin/env perl
# Takes what belongs to one machine and one moment out of transcripts.
#
#     scrub.pl ROOT CLIENTS FILE.raw...        writes FILE.jsonl beside each
#
# Folders, UUIDs, the agents' own ids, times of day, durations and ports become fixed text of the
# same kind, so that the result can still be read as what it is. Ids are numbered in the order of
# their first appearance over all files: what was the same stays the same, what differed differs.
use strict;
use warnings;

my ($root, $clients, @files) = @ARGV;
my (%named, $count);

sub uuid { my ($id, $version) = @_; $named{$id} //= sprintf "00000000-0000-%s000-8000-%012d", $version, ++$count }
sub own_id { my ($id, $kind) = @_; $named{$id} //= sprintf "%s_%026d", $kind, ++$count }

for my $file (@files) {
    open my $from, '<', $file or die "$file: $!";
    (my $name = $file) =~ s/\.raw$/.jsonl/;
    open my $to, '>', $name or die "$name: $!";
    while (<$from>) {
        s/\Q$root\E/\/tmp\/client/g;
        s/\Q$clients\E/\/opt\/clients/g;
        s/\d{4}-\d\d-\d\dT[\d:.]+Z/2026-01-02T03:04:05.678Z/g;
        s/[A-Z][a-z]+day, [A-Z][a-z]+ \d{1,2}, \d{4}/Friday, January 2, 2026/g;
        s/(current_date>)[\d-]{10}/${1}2026-01-02/g;
        s/("(?:timestamp|start|end|created)": ?)1\d{12}/${1}1767323045678/g;
        s/("[A-Za-z_]+(?:_ms|Ms)": ?)[\d.]+/${1}5/g;
        s/127\.0\.0\.1:\d+/127.0.0.1:8080/g;
        s/\b([0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b/uuid($1, $2)/ge;
        s/\b((ses|msg|prt)_[0-9a-zA-Z]{20,})\b/own_id($1, $2)/ge;
        print $to $_;
    }
}
