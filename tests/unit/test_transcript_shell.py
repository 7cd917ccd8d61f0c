"""is_ephemeral: what only looks passes, what could write in any way does not."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.transcript.shell import is_ephemeral

LOOKS = r"""
ls
ls -la src
ls *.py
pwd
cat README.md
cat "a file.txt" 'b c'
head -n 20 src/main.py
tail -50 log.txt
tail -n +5 log.txt
wc -l *.txt
git status
git status --porcelain --branch
git --no-pager log --oneline -5
git -C sub diff --stat
git diff HEAD~1 -- src/*.py
git log --format='%h %s' main..dev
git show HEAD@{1}:a.txt
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --list 'feat/*'
git branch --contains HEAD
git rev-parse --short HEAD
git stash list
git stash show -p
git tag
git tag -l 'v1*'
git remote -v
git remote get-url origin
git config --get user.name
git config user.email
git blame -L 1,5 a.py
git ls-files
git reflog -n 5
git cat-file -p HEAD
git grep -n todo
git worktree list
git diff --no-ext-diff --output-indicator-new=+
date
date +%s
date -d yesterday +%F
hostname
hostname -f
uname -a
df -h
du -sh .
ps aux | grep python
ps aux | grep -v grep | wc -l
pgrep -fl node
which python
type ls
command -v git
echo "exit=$?"
echo done
env
printenv PATH
find . -name '*.py' -type f
find src -maxdepth 2 \( -name a -o -name b \) -print
find . -newer a.txt ! -path './.git/*'
grep -rn "foo$" src/
grep -E 'a|b' f.txt
rg -n pattern src
sed -n 1,20p a.py
sed -n '/start/,/end/p' a.py
sed 's/a/b/g' f.txt | head
sed -n -e 1p -e '$p' f
sed 's/[0-9]*x/y/' f
awk '{print $1}' f.txt
awk -F: '$3 >= 100 || /x/ {print $1}' /etc/passwd
sort -u names | uniq -c | sort -rn
sort -k2,2 -t, data.csv
uniq -c names
ls 2>/dev/null
ls missing 2>&1 | tail -1
ls > /dev/null
git status && git log -1
cd src && ls
ls; pwd
ls || true
jq '.a | .b' x.json
tree -L 2
stat a.txt
file a.out
du -s * | sort -n
less notes.md
top -bn1
ss -tln
ip addr show
python3 --version
diff -u a b
md5sum a
cat 日本語.txt
realpath .
"""

WRITES = r"""
rm -rf x
git push
git commit -m x
git -c core.pager=evil log
git -c alias.st='!rm -rf x' st
git -calias.x=y x
git --config-env=a=b log
git --exec-path=/tmp/evil status
git --git-dir=/tmp/evil status
git -p log
git diff --output=x
git diff --output x
git diff --outp=x
git log --ext-diff -p
git grep -O todo
git grep -nOvim todo
git grep --open-files-in-pager=vim todo
git grep --open=vim todo
git branch new
git branch -D old
git branch -d old
git branch -m a b
git branch -v new
git branch -l new
git branch --list -D x
git branch --edit-description
git tag v1
git tag -d v1
git stash
git stash pop
git reflog expire --all
git reflog delete HEAD@{0}
git remote add a b
git remote prune origin
git remote set-url origin x
git config user.name x
git config --unset user.name
git config a.b*
git worktree add ../x
git worktree prune
git cat-file --filters HEAD:x
git ls-remote --upload-pack=evil .
git fetch --prune
git reset --hard
git st
env X=1 ls
env ls
env -i rm x
X=1 ls
PAGER=evil git log
GIT_EXTERNAL_DIFF=evil git diff
LD_PRELOAD=./x.so ls
ls > out
ls >> out
ls >| out
ls 1> out
ls >out
ls &> out
ls >& out
ls 2>&1>out
ls 2> /dev/nullx
ls > /dev/null/../../tmp/x
ls <> f
cat < f > g
cat <<EOF
cat <<< x
cat <(rm x)
ls >(tee x)
ls $(rm x)
ls `rm x`
echo "$(rm x)"
echo "`rm x`"
echo "${x:=$(rm y)}"
echo $'a\nrm x'
ls $X
find $X
ls ${X}
ls "$HOME"
ls &
ls & rm x
ls |& tee x
ls | tee x
ls | xargs rm
ls | sh
exec ls
eval ls
source x
. x
command rm x
command ls
builtin cd
\rm x
r\m x
'rm' x
"ls"
l''s
\ls
/bin/ls
./ls
find . -delete
find . -exec rm {} +
find . -exec rm '{}' \;
find . -execdir rm x
find . -ok rm x
find . -okdir rm x
find . -fprint out
find . -fprintf out x
find . -fls out
find . -rm
find . -name -delete
find . -{delete,print}
find . -del*
find *
find . -files0-from x
{ls,-la}
ls {a,b}
(ls)
{ ls; }
! ls
if true
for x in a
ls() { rm x; }
time ls
sudo ls
nohup ls
timeout 5 ls
watch ls
sed -i s/a/b/ f
sed -ni p f
sed --in-place s/a/b/ f
sed --in-pl s/a/b/ f
sed 's/a/b/w out' f
sed 's/a/b/e' f
sed -n '1w out' f
sed '1e rm x' f
sed -f script f
sed -n 'w out' f
sed 's/[]/]/p;s/w file/x/' f
sed p*
sed -n p f -i
sort -o out f
sort f -oout
sort -uo out f
sort --output=out f
sort --out=out f
sort --compress-program=evil f
sort *
uniq a b
uniq src/*
awk '{print > "out"}' f
awk '{print >> "out"}' f
awk '{print | "sh"}' f
awk 'BEGIN{system("rm x")}'
awk 'BEGIN{"rm x" | getline}'
awk -f prog f
awk '@load "x"'
awk '{print}' f -i inplace
gawk -i inplace '{print}' f
less +!rm f
less -o out f
less -Oout f
more +!rm f
man -P evil ls
man --pager=evil ls
date -s 2020-01-01
date --set=x
date 01010000
date -r src/*
hostname evil
hostname -F f
hostname -b x
rg --pre evil x
rg --pre=evil x
rg --hostname-bin=evil x
grep --pager=evil x f
tail -f log
tail -F log
tail -5f log
tail --follow=name log
tail +5f log
tree -o out
tree -R
file -C -m x
ss -K
ss -D out
ss --kill
printf -v PATH x
printf -v 'a[$(rm x)]' x
arch -x86_64 rm
tee x
xargs rm
cp a b
mv a b
touch x
dd if=a of=b
python3 -c pass
python3 --version x
node -e 1
bash -c ls
curl x
ls # comment
ls;;
ls &&
ls |
&& ls
ls "unclosed
ls 'unclosed
[ -v 'a[$(rm x)]' ]
test -v x
jobs -x rm
history -c
ip link set lo down
ip -batch f
lsof -D b
ls -la; rm x
ls && rm x
ls || rm x
pwd | rm x
cd a b
cd -P x
"""

RAW_WRITES = [
    "", " ", "\n", ";", "ls\nrm x", "ls\r\nrm x", "ls\rrm x", "ls \\\n-la", "ls\\", "l\\\ns",
    "git log \\\n--output=x", "ls\u00a0-la", "ls\u2003x", "ls\u2028rm x", "ls\u200b", "ls\x00", "ls\x1b[A",
    "ls\x0brm x", "cat <<EOF\nx\nEOF", "ls\x85rm x", "ls \ud800", "ls\ufeff", "awk '{print\n> \"x\"}' f",
    "ls 2²>x",
]  # fmt: skip


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("command", lines(LOOKS))
def test_looking_passes(command: str) -> None:
    assert is_ephemeral(command)


@pytest.mark.parametrize("command", lines(WRITES) + RAW_WRITES)
def test_what_may_write_is_refused(command: str) -> None:
    assert not is_ephemeral(command)


def test_what_is_not_text_is_refused() -> None:
    assert not is_ephemeral(None)  # type: ignore[arg-type]
    assert not is_ephemeral(["ls"])  # type: ignore[arg-type]


@given(
    st.sampled_from(lines(LOOKS)),
    st.sampled_from(lines(WRITES)),
    st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & "]),
)
def test_one_bad_part_refuses_the_whole(good: str, bad: str, joint: str) -> None:
    assert not is_ephemeral(good + joint + bad)
    assert not is_ephemeral(bad + joint + good)


@given(st.lists(st.sampled_from(lines(LOOKS)), min_size=1, max_size=4))
def test_good_parts_make_a_good_whole(parts: list[str]) -> None:
    assert is_ephemeral(" && ".join(parts))


_PIECES = st.sampled_from(
    "ls|cat|sort|sed|git|find|awk|uniq|echo|grep|diff|log|>|>>|<|&|&&|\\||;|$(|)|`|'|\"|\\|{|}|*|?|[|]|-o|-i"
    "|--output=|-delete|w out|f|a b|$x|~|#|!|=|2>&1|>/dev/null|$?|tee|@{|^|,|%|p| |  ".replace(
        "\\||", "BAR|"
    ).split("|")
)


@given(st.lists(_PIECES, min_size=1, max_size=8), st.sampled_from(["", " "]))
def test_what_passes_changes_no_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], joint: str
) -> None:
    """Whatever passes is really run, in a directory of its own: nothing there may change."""
    command = joint.join(piece.replace("BAR", "|") for piece in pieces)
    if not is_ephemeral(command):
        return
    place = tmp_path_factory.mktemp("place")
    (place / "f").write_text("one\ntwo\n")
    (place / "-o").write_text("option")
    run(command, place)
    assert {p.name: p.read_text() for p in place.iterdir()} == {"f": "one\ntwo\n", "-o": "option"}


@pytest.mark.parametrize(
    "command", [c for c in lines(LOOKS) if not c.startswith(("git", "top", "find", "du", "df", "jq", "rg"))]
)
def test_the_table_changes_no_file(tmp_path: Path, command: str) -> None:
    (tmp_path / "f.txt").write_text("one\n")
    run(command, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["f.txt"]


def run(command: str, place: Path) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["bash", "-c", command], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=2
        )
