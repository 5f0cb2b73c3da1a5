# Runs a command that can open only the named files and folders and can connect to no TCP port (Linux Landlock).
# Usage: perl wall.pl NUMBER_OF_PRCTL r:PATH … w:PATH … -- COMMAND …   r: read and execute, w: read and change.
# Without Landlock in the kernel the command runs without a wall. It must check this itself.
use strict;
use warnings;

use constant { CREATE_RULESET => 444, ADD_RULE => 445, RESTRICT_SELF => 446 };
use constant { PR_CAPBSET_DROP => 24, PR_SET_NO_NEW_PRIVS => 38 };
# With one of these, root can read the memory and environment of other processes despite Landlock.
use constant CAPABILITIES_OVER_PROCESSES => (19, 21, 38);    # SYS_PTRACE, SYS_ADMIN, PERFMON
use constant { VERSION => 1, PATH_BENEATH => 1, O_PATH => 0x200000, ENFORCES_RENAMES => 2 };
use constant { EXECUTE => 1, WRITE_FILE => 2, READ_FILE => 4, READ_DIR => 8, TRUNCATE => 1 << 14, CONNECT_TCP => 2 };

my $prctl = shift @ARGV;
my @places;
while (@ARGV) {
    my $word = shift @ARGV;
    last if $word eq '--';
    push @places, $word;
}
restrict();
exec { $ARGV[0] } @ARGV or die "cannot run $ARGV[0]: $!\n";

sub restrict {
    my $version = syscall(CREATE_RULESET, 0, 0, VERSION);
    # The first version forbids renames into another folder, which tables need.
    return if $version < ENFORCES_RENAMES;
    my $all = (1 << 14) - 1 | ($version >= 3 ? TRUNCATE : 0);
    my $handled = $version >= 4 ? pack('QQ', $all, CONNECT_TCP) : pack('Q', $all);
    my $ruleset = syscall(CREATE_RULESET, $handled, length $handled, 0);
    return if $ruleset < 0;
    for (@places) {
        my ($kind, $path) = /^([rw]):(.*)$/s or die "unknown place $_\n";
        sysopen(my $place, $path, O_PATH) or next;
        my $access = $kind eq 'r' ? EXECUTE | READ_FILE | READ_DIR : $all & ~EXECUTE;
        $access &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE if !-d $path;
        my $rule = pack('Ql', $access, fileno $place);
        syscall(ADD_RULE, $ruleset, PATH_BENEATH, $rule, 0) == 0 or warn "no Landlock rule for $path: $!\n";
    }
    # This fails for other users, which do not have these capabilities.
    syscall($prctl, PR_CAPBSET_DROP, $_, 0, 0, 0) for CAPABILITIES_OVER_PROCESSES;
    syscall($prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or return;
    syscall(RESTRICT_SELF, $ruleset, 0);
}
