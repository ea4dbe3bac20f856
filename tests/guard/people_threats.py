"""The rows of the threat table about people who may do some things here and not others: their roles and their time."""

from __future__ import annotations

from tests.guard.threat import Threat

PEOPLE_THREATS = (
    Threat(
        "T238",
        "somebody who was invited allows calls for good; their invitation is revoked, and the calls still ask nobody",
        "a standing approval ends with the token it was given with, as a schedule does; the call asks again",
        part="one given in a sign-in outlives that sign-in, and an invitation whose time is over: the role still allows"
        " it, and `starloom person role` or Settings takes it back",
    ),
    Threat(
        "T245",
        "while an undo or a look at work in doubt waits, somebody who may edit puts another call or device in its"
        " place, and work that stays counts as taken back, or work that was done is done again",
        "such a call stays as its task says; it can be cancelled or removed, and then nothing is claimed of it",
    ),
    Threat(
        "T247",
        "somebody whose role was narrowed or whose invitation was revoked lets a device in by a join code that they"
        " made before, good for a week and for many devices, or have made in that moment",
        "open codes and unanswered requests end with the right to make them, in the same commit; a later one is"
        " refused",
        part="a device that they let in before stays: `starloom devices` says who did, `device revoke` ends it",
    ),
    Threat(
        "T249",
        "somebody who may rename devices, and not approve, swaps two names, and an approved call runs on another one",
        "no former name of a device goes to another one while work that has not ended means it by that name",
    ),
    Threat(
        "T252",
        "somebody who may label or add devices, and not approve, leads a call that was approved, once or for good, to"
        " another device than the approver was shown: by a label that moves before or after the yes, or between a"
        " preview and the launch that approves it by its hash",
        "what needs approval goes only to devices that fitted when it was asked or shown, which the hash of a preview"
        " covers; where none of them does any more and another one would, or the devices are others than in the"
        " preview, the plan is asked about again with the reason; no edit of a model leads it to another",
        part="calls that need no approval go to each device that fits when they run",
    ),
    Threat(
        "T253",
        "somebody's right to run work is taken while a model makes a plan of their words, and the plan starts, even as"
        " one that they approved by its hash",
        "a request without a plan ends with the right to ask for it, in the same commit; a later one is refused",
    ),
    Threat(
        "T280",
        "an assistant puts files into the trash that it names in calls of a few, moves them away, or has a tool of"
        " others or a goal write where files are, and nobody is asked",
        "whatever an assistant writes waits for a person where it may take one file from its place or write over it,"
        " unless a question of the plan shows the files first; no edit of an assistant adds such a call",
        part="a program in the cage writes in its own folder; copies beside what is there go unasked",
    ),
    Threat(
        "T281",
        "an assistant changes or thins out the running plan of a person, says that its work has happened or skips it,"
        " pauses or repeats it, stops everybody's work, or pauses, changes, fires or removes a schedule of a person",
        "an assistant adds tasks behind the plan of somebody else and may cancel it; all else is a person's, as is"
        " all about a schedule, and nobody but a person marks work",
        part="an assistant cancels single constellations of others",
    ),
    Threat(
        "T292",
        "an assistant, or somebody who may not approve, cancels a harmless task of a plan that waits for its approval"
        " and retries it, and the whole plan begins; or all of its tasks, and retries one after it has ended",
        "a control begins no plan that waits for its approval; one that ended before anybody allowed it is started"
        " only as a new constellation, which asks",
    ),
    Threat(
        "T297",
        "an assistant, or a plan that somebody else wrote, empties the trash of a device, and what it took away before"
        " cannot be brought back",
        "a call that empties a trash destroys: its plan waits for a person, no edit of an assistant adds it, and the"
        " device asks its owner for each number of days",
        part="what a person allowed from now on is not asked about again, as with any call",
    ),
    Threat(
        "T298",
        "a tool that says it only computes reads files: an edit that nobody approved gets a picture by `image.resize`,"
        " an old result stands for a changed picture, and a folder that is taken back is read on",
        "the tools of pictures declare that they read, a tool without effects has no folder, and a call ends with its"
        " folders whether or not it needs a grant",
    ),
    Threat(
        "T303",
        "a plan, also of an assistant that nobody was asked about, gives `python.run` files of equal names from a"
        " device called like a path, and they lie anywhere on the device: code of the agent is written over",
        "the names of files that are laid out for a program lead to no other folder, whatever their origin is called,"
        " and no device is called like a path",
    ),
    Threat(
        "T304",
        "whoever chooses the arguments of two calls gives both questions to the owner the same short name, has the"
        " harmless one allowed, and the device carries out the other",
        "an answer counts for the tool, the arguments and the task that were asked about; another call of this name"
        " waits, and no line is named for it",
    ),
    Threat(
        "T291",
        "an assistant saves a recipe, which stands among those of the person, and its words take files away unasked"
        " once the person types them",
        "a recipe says that an assistant saved it, and asks as a plan of the assistant does until a person saves it",
    ),
    Threat(
        "T273",
        "somebody who may only look asks their live socket for snapshots, again and again, and reads none of them: the"
        " hub keeps each, megabytes for some letters",
        "the hub hears a page again, and makes its next snapshot, when it has taken what it asked for before",
    ),
    Threat(
        "T274",
        "the owner of a device takes back a folder, a host or a command, and a call that has it goes on to read and"
        " send for hours",
        "each second the agent ends the calls whose folders, hosts or command its policy does not allow any more",
        part="what such a call has done by then stays",
    ),
    Threat(
        "T275",
        "a stranger with many addresses is refused so often that the record of activity leaves out that a device or a"
        " person was refused",
        "strangers, and callers that are known, have so many lines a minute each",
    ),
    Threat(
        "T299",
        "a device sends frames with texts, lists or maps of hundreds of kilobytes, which the log of inputs keeps though"
        " nobody is shown them: a few questions to its owner a second fill the disk of the hub",
        "each text, list and map of a frame has a bound, and a frame beyond it ends the connection before it is an"
        " input; a field without one fails a test",
        ("tests/protocol/test_bounds.py::test_each_text_list_and_map_of_a_device_has_a_bound",),
    ),
    Threat(
        "T300",
        "a device sends entries of its ledger, or reports of calls that it never had, as fast as its line takes them:"
        " they wait in the memory of the hub by the hundred thousand, and everybody's requests are refused",
        "a device with a thousand inputs is read no further until the engine has taken what waits, and it alone waits;"
        " a message is handled in such portions",
    ),
    Threat(
        "T301",
        "a device gives a list with a long item, and a plan fills it into the arguments of another device's call many"
        " times: the order is longer than a message, and ends each connection of that device for good",
        "an order that no message holds does not leave: its task fails with the size, and its device stays online",
    ),
    Threat(
        "T302",
        "a device or a program reports that a call saved or replaced a file which it did not, or somebody puts a link,"
        " another file or nothing where it lies or lay, and the undo takes or gives back something else",
        "the device takes back a file in its folders alone, as the call wrote it and through no link, and gives back"
        " only what its own trash has for that very place; else it moves nothing and says why",
    ),
    Threat(
        "T305",
        "somebody without a token asks a standby hub for an address such as *@HOST: behind the address of the owner it"
        " names another host, and the standby asks that one and gives back what it answers",
        "an address begins with /, and the relay puts it behind the host of the owner by parts, not by text",
    ),
    Threat(
        "T306",
        "somebody on the way to a Redis by rediss:// answers with a certificate of his own, and a worker or the queue"
        " of jobs gives him the password",
        "every connection checks the certificate and its name, and no address turns that off",
    ),
    Threat(
        "T310",
        "somebody sends bodies that nest deeply to any route: each is an error of the hub, and fills its log",
        "a body nests at most 64 levels, which is asked before anything reads it",
        ("tests/guard/test_deep_bodies.py::test_t310_",),
    ),
    Threat(
        "T311",
        "somebody who rewrote the record gives, or has another give, a right anchor beside the wrong one of a position,"
        " or one at a position that no commit has: the record is said to be whole",
        "each anchor of a position is compared, and one that no commit stands for is a break or is refused",
        ("tests/edge/routes/people/test_activity.py::test_t311_",),
    ),
    Threat(
        "T312",
        "somebody who may look sends cursors of lists with numbers or signs that no store takes: each is an error of"
        " the hub, and says that PostgreSQL is away",
        "a cursor is read in one place, which takes what a store takes and refuses the rest",
        ("tests/guard/test_odd_cursors.py::test_t312_",),
    ),
    Threat(
        "T313",
        "a program writes into a file or folder while a call moves it to another file system, or the call is killed on"
        " the way: what was written is removed with the source, or a second copy stays that no ticket names",
        "an entry is removed only as it was copied, and what came later stays and is named; a copy on its way is locked"
        " by its process, and that of an ended one is finished or removed",
        ("tests/device_agents/platforms/test_carrying.py",),
    ),
    Threat(
        "T314",
        "a file has two names, or its folder two mounts: it is taken for a copy of itself, and the only one goes to the"
        " trash as an extra copy",
        "a file is known by its number on its disk: a search for equal sizes has it once, and no trash takes it beside"
        " itself",
    ),
    Threat(
        "T315",
        "the date of a device is set forward, by the network or by somebody: what a call trashed a minute ago is older"
        " than the owner's bound, and goes for good",
        "a ticket goes only when the agent has seen it in the trash for a day that it lived through, whatever the date",
    ),
    Threat(
        "T316",
        "a device joins another hub, and the disk is full or the power is cut on the way: one of the two hubs has what"
        " the owner allowed to the other",
        "nothing is allowed from before the record of the new hub until its policy is written",
    ),
    Threat(
        "T317",
        "somebody at the hub allows a call in the moment in which the device's owner denies it there, and their answer"
        " replaces the owner's",
        "a question is read and answered under one lock of the device's folder: the first answer counts",
        ("tests/device_agents/policy/test_approvals.py::test_t317_",),
    ),
    Threat(
        "T318",
        "somebody's role is made smaller, or the token of their schedule is revoked or expires: its waiting firings"
        " still run as theirs, and so does one that another person fires by hand",
        "rights are judged in the commit that takes them and again at each firing, whatever causes it: the schedule"
        " stops, its waiting firings go, and a firing by hand is refused",
        part="a firing that runs goes on, as other accepted work does: `starloom cancel --of NAME` ends it",
    ),
    Threat(
        "T319",
        "a secret was removed, or kept from a device, tool or recipe, after a backup was made, and is there for them"
        " again once the backup is restored",
        "a restore compares the receivers: those of the backup and of the history until then may have it, nobody else",
        ("tests/core/people/test_restored_rights.py::test_t319_",),
    ),
    Threat(
        "T320",
        "somebody who may undo own work only forks the work of another person and undoes the fork, or carries out once"
        " more an undo that is in it: the files of the other person go to the trash",
        "a fork takes back what it did itself; the results that it has from its origin are undone there, by those who"
        " may, and an undo that is carried out once more is judged as one that is asked for",
    ),
    Threat(
        "T321",
        "an undo of work that was killed or stopped in the middle takes a file that others put to its place meanwhile,"
        " or what another constellation left there",
        "a device notes each file by its number on the disk before it appears, for its task alone: what is another file"
        " by now is not named, and one that was changed is not taken",
        ("tests/device_agents/work/execution/test_journal.py::test_t321_",),
    ),
    Threat(
        "T322",
        "a plan, an edit, a rule or a step of a model takes back what another task left on a device, by the argument"
        " that stands for files which nobody sees before the call",
        "that argument is given by the hub's own undo alone: a plan with it is refused, and so is each change of one",
    ),
    Threat(
        "T323",
        "after a backup was restored, a task or the step of a goal has the name of another call that was lost, and"
        " counts as done by what its device kept of that one",
        "a device notes a digest of each call; hub and device compare it, and of another call a person is asked",
        part="an agent of before that notes none: its kept result counts for a task, and waits for a person for a step"
        " of a goal",
    ),
    Threat(
        "T324",
        "a device asks to join with two codes and joins by one: the other request, approved later, lets its key in"
        " again after the device was revoked, or ends what people decided about it",
        "all requests of a key end when it joins, and none is approved of a key that the fleet knows",
    ),
    Threat(
        "T325",
        "the recipe of a schedule was mended, or removed, after a backup was made, and once the backup is restored the"
        " schedule runs it as it was before, as approved then",
        "a restore compares the recipes that the firings of a schedule read: where they differ, the schedule is paused",
        ("tests/core/people/test_restored_rights.py::test_t325_",),
    ),
    Threat(
        "T326",
        "a backup is restored into a folder of its own, to try it, and its hub runs on the database and Redis of the"
        " living hub: it takes the shard, cuts the devices, and judges by rights of before",
        "a restored settings file names no other places than the restore had; a hub starts on no other history than the"
        " restored one, and takes no Redis with a log of before",
        ("tests/host/test_backup.py::test_t326_", "tests/store/redis/test_store.py::test_a_log_of_before_a_restore_"),
    ),
    Threat(
        "T327",
        "somebody who tidies up revokes one token, and with it, unasked, the tokens, invitations and schedules of"
        " everybody that were made with it; or removes the only owner",
        "`starloom token revoke` names and counts what rests on the token and asks first, `token ls` says with which"
        " each was made, and the only owner is not removed",
        ("tests/cli/owner/test_tokens.py::test_t327_", "tests/cli/owner/test_people.py::test_the_only_owner_"),
    ),
)
