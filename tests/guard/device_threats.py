"""The rows of the threat table about devices and browsers: pages, a hostile hub, neighbours, ended sign-ins."""

from __future__ import annotations

from tests.guard.threat import Threat

_BROWSER = "tests/device_agents/tools/network/test_browser.py::"
_FAULTS = "tests/device_agents/work/test_runtime_faults.py::"


DEVICE_THREATS = (
    Threat(
        "T130",
        "a page of a listed host leads the browser of a device to a host that its owner has not listed: by a redirect, "
        "a socket, a frame, or a number instead of a name",
        "Playwright stops the requests that it sees, and the browser is started so that it finds no address but those "
        "of the listed hosts",
        (
            _BROWSER + "test_a_page_that_leads_to_another_host_is_not_followed",
            _BROWSER + "test_no_script_socket_or_frame_of_a_page_leaves_its_hosts",
            _BROWSER + "test_a_host_that_is_not_listed_is_never_asked",
        ),
        part="a listed name is trusted to lead where its owner says",
    ),
    Threat(
        "T131",
        "a hub floods a device with calls, numbers an attempt beyond every ledger, or sends arguments, paths and names "
        "that nobody should, so that the device falls silent, runs out of memory or keeps a call without an end",
        "a number, a text and a message have bounds where they are read; so many calls wait and no more; a fault ends "
        "the call or the connection that it is about",
        (
            "tests/guard/test_hostile_orders.py",
            _FAULTS + "test_an_attempt_that_no_ledger_can_hold_breaks_the_protocol",
            _FAULTS + "test_an_acknowledgement_beyond_every_report_wedges_no_ledger",
        ),
        part="a hub may still choose what the policy allows, and fill the slots with it",
    ),
    Threat(
        "T132",
        "a neighbour on the same machine puts pipes, sockets, endless or growing files, links to files outside and "
        "names that are no text into a granted folder, so that a call waits, fails, or passes over a file in silence",
        "a file is opened without waiting and must be a regular one, what is left out is counted, a copy is whole or "
        "none, and a file is replaced and not written through",
        (
            "tests/guard/test_odd_files.py",
            "tests/device_agents/tools/test_waiting.py",
            "tests/device_agents/owner/test_owner_files.py",
        ),
        part="a hard link to a file outside is a file of the folder: who may make one could have copied it",
    ),
    Threat(
        "T133",
        "an operator ends the device of another person, by a revocation or by a join code that replaces it",
        "a device keeps the operator who let it in; any other operator is refused both, and told whom to ask",
        part="a device that an owner let in is ended by owners alone",
    ),
    Threat(
        "T135",
        "a file that a task, a download or another user puts into the folder where the hub, an agent, its service or a "
        "join is started is run as a part of Starloom, outside of every cage",
        "each Python that Starloom starts leaves the folder of its start out of its path, and the script that joins "
        "that of its own file",
        part="a service that an earlier release installed gets this with its next `starloom-agent install-service`; "
        "variables such as PYTHONPATH are the user's own",
    ),
    Threat(
        "T136",
        "a page, a request or a download that was open when its sign-in ended goes on to show what happens",
        "the hub asks before each message and piece of an answer whether the sign-in, or the device, is good",
        part="what the network has taken by then arrives; a connection that is silent ends within 15 seconds",
    ),
    Threat(
        "T137",
        "on a shared computer the browser shows files of answers after their reader has signed out",
        "a browser asks the hub before it shows a file that it has kept",
        part="bytes may stay on the disk of the browser: who may read its files finds them",
    ),
    Threat(
        "T138",
        "a call finds something of another call in the process that both share, gets into the process of another "
        "constellation or of other grants, or leaves something running there",
        "only tools of ours that compute or read share a process, for one constellation, tool, set of folders and "
        "grants; the process compares itself with what it was, its runner looks at it from outside, and any "
        "difference, error, stop or change of the policy ends it",
        (
            "tests/device_agents/work/calls/test_process_reuse.py",
            "tests/device_agents/work/execution/test_remains.py",
        ),
        part="memory that Python has freed is not wiped between two calls of a constellation, none of which has a "
        "secret; what a tool puts into a container or cache is found by the review of its module alone",
    ),
    Threat(
        "T155",
        "a call exchanges the code or the defaults of a function, or adds an audit hook or a call at the exit, and the "
        "next call of its process works with that",
        "the process hears of each of these as it happens, and serves no other call then",
        ("tests/device_agents/work/execution/test_remains.py",),
        part="code of C, which is that of Python and of our libraries alone, can do all this unheard; a cell of a "
        "closure is found by the review of its module alone",
    ),
    Threat(
        "T146",
        "a program with a token opens requests that wait for events until the hub serves nobody else",
        "a token has at most as many waiting requests, streams among them, as it may have live sockets; a submission "
        "that would wait beside them is refused before it is accepted; one whose connection ends waits no longer",
        ("tests/edge/routes/requests/test_a2a.py::test_streams_that_are_asked_for_at_once_are_bounded_too",),
        part="a person may have many tokens; how many connections an address has is bounded by the listener",
    ),
    Threat(
        "T143",
        "a file that is called like the trash's own note replaces it: an undo says that the file is back while it is "
        "gone for good, and its contents choose where a restored file goes",
        "the file lies beside its note under another name, and a ticket whose note does not fit is refused, never "
        "cleared",
        ("tests/guard/test_links.py::test_a_linked_trash_moves_nothing_out",),
        part="who may write a granted folder may exchange a note there; it leads to places in the grants alone",
    ),
    Threat(
        "T141",
        "a folder of recordings that somebody else made writes terminal commands into the output of the suite, or "
        "holds it up with a pipe or a file without end; another user of the computer reads what was recorded",
        "the suite prints by the function that writes such signs out, and reads regular files of a bounded size; a "
        "recording and a saved transcript are new files of their owner",
        part="the replies of a recording are those of a model: they run plans in the suite's own world",
    ),
    Threat(
        "T144",
        "bytes, a pipe, a device or a link in the place of the file with the hub's port stop each command of the hub, "
        "or have a start write over another file",
        "a few bytes of a regular file are read, and anything but a port counts as none; a start puts a new file of "
        "its own there, in the place of a link",
        part="who may write the hub's home chooses its port",
    ),
    Threat(
        "T154",
        "the emptying of a trash removes what is no trash: by a link in its place or in it, by another name, a mounted "
        "file system or a clock; or it leaves half a ticket after a kill, or names, depth, rights, a full disk stop it",
        "only folders named as tickets go, by descriptor and through no link, each by one rename that takes its name "
        "away; no tool can set the age, and what is younger than a day stays; what is cut is finished later",
        part="who may write a folder may fill its trash until what is older than a day goes; a clock that is years "
        "ahead empties what is not that old",
    ),
    Threat(
        "T153",
        "a goal that may change one folder brings a file back from the trash of another one by its ticket, or by an "
        "item that names a path of its own and the ticket of another place",
        "a ticket names no place of an envelope: a call has to say the folder, and the device restores below it alone; "
        "an item brings back the file of its own place",
    ),
    Threat(
        "T150",
        "a file that a call replaces is lost: by a kill at any step, a trash that is full, locked, a link or on "
        "another file system, or two calls that write to one place at once",
        "the new file and the old one exchange their names in one step, and the old one has its ticket in the trash by "
        "then; a free place is taken only if it still is free; a call that cannot keep the old file changes nothing",
        (
            "tests/device_agents/toolkit/files/test_placing.py::test_calls_that_write_one_file_at_once_lose_none",
            "tests/device_agents/tools/files/test_writers.py",
        ),
        part="without an exchange the place is free for a moment; without links as well, a file that comes to a free "
        "place in the moment of the rename may be lost; programs that a call starts write as they like",
    ),
    Threat(
        "T156",
        "a document or a header of a permitted size keeps the hub from everybody: a cookie with quotes or a key that "
        "stands twice among thousands, from a stranger, or thousands of directives for tags in a plan",
        "cookies are read as they were sent, names are compared in one pass, and a document has no directives",
        ("tests/guard/test_costly_documents.py",),
    ),
    Threat(
        "T157",
        "a small archive has millions of folders, links or names, or folders so deep that no call clears them away, "
        "and fills the disk, the memory or the inodes of a device; or its times are no numbers, and stop a rotation; "
        "or a head of digits keeps a call for hours",
        "folders and other entries are bounded as files are, names together, depth, and rows of digits in heads; a "
        "time that is none is left out",
        ("tests/guard/test_hostile_archives.py",),
        part="within the limits of its call an archive may fill a disk",
    ),
    Threat(
        "T158",
        "on a shared computer the browser keeps drafts and outputs of tools for whoever opens it next, after their "
        "person has signed out, or another has signed in",
        "what is kept beyond a tab is of one person, and goes with the sign-in",
        ("tests/e2e/test_offline.py::test_signed_out_means_forgotten",),
        part="personal.test.ts holds another person and an ended session; a browser that was closed with its sign-in "
        "open keeps them until it is opened again",
    ),
    Threat(
        "T159",
        "a text of a device in the sentence that opens an answer ends its quotation by a look-alike sign, ends the "
        "lead of the page in its middle, or is shown as a command to type",
        "signs that look like quotes are exchanged but within words, and a quotation is never split",
        (
            "tests/guard/test_hostile_sentences.py",
            "tests/core/answer/test_stated.py::test_a_text_from_a_device_stays_in_its_quotes",
        ),
        part="the split is held by AnswerBand.test.ts",
    ),
    Threat(
        "T160",
        "somebody who may only look asks at once, many times, for a constellation of thousands of tasks, or why they "
        "stand still, until the hub answers nobody else; or sends pings on a socket and never reads the answers, until "
        "they fill its memory",
        "a caller reads two whole constellations at a time, and its other requests for one wait in order; a peer that "
        "does not read gets no more answers",
        ("tests/guard/test_many_readers.py",),
        part="requests that wait take a connection each",
    ),
    Threat(
        "T161",
        "a device that joins takes a name, a label or a system that reads as a sentence of Starloom, ends a quotation, "
        "turns the text behind it, or cannot be told from another by its spaces",
        "such texts are refused before anybody is asked, in a join code and in a new name, too",
        ("tests/guard/test_misleading_names.py",),
        part="a name of plain words, as *nas is safe*, is taken: a person lets the device in and sees it",
    ),
    Threat(
        "T167",
        "a step that names no device brings what one device found to another, whose users should not get it",
        "an owner reserves that device: it gets only work that names it, by id, name or former name",
        ("tests/core/fleet/test_reserving.py",),
        part="a device is not reserved unless a person says so; work that names it brings its inputs there",
    ),
    Threat(
        "T169",
        "a page that a browser shows on a server at the end of a tunnel uses the hub under an address of loopback that "
        "the hub accepts of devices which joined at another port of it",
        "another port of loopback counts on the hub's own sockets alone, and only without an Origin, a cookie or "
        "another header that browsers add; any other name is refused there too",
        part="a program of another user of that server may ask the hub by the tunnel as before, and meets the sign-in",
    ),
    Threat(
        "T168",
        "a device joins under the name of one that is gone, to get its labels and so its work",
        "a person sees the labels before the device is let in, or gave the name with the code that lets it in unseen",
        part="a machine that is added by ssh without a name gets the labels of its host name; they are printed",
    ),
    Threat(
        "T171",
        "an altered backup writes files outside of the hub's home, puts one in the place of the mark of the restore, "
        "opens the keys to other users, or is a few bytes that say that they are a terabyte",
        "every name of the manifest is one below its folder, none is of what a restore puts there, the mode is the "
        "owner's alone, and sparse members are refused",
        part="who can write a backup decides the history that it restores; `starloom audit verify` finds changes",
    ),
    Threat(
        "T172",
        "a restore that is repeated before the hub starts, after a wrong choice or a kill in its middle, brings back "
        "whom the first one kept out, since the history that it replaces is a backup itself",
        "what an earlier restore ended and no hub has heard of yet ends, too; a device that the history never had is "
        "none; the mark is put whole and comes back if the restore fails",
        ("tests/core/people/test_restored_rights.py::test_ends_of_two_restores_add_up_and_a_backup_has_only_its_own",),
        part="who may write the home of the hub can take its mark `run/restored` away",
    ),
    Threat(
        "T173",
        "a restore begins the work of a schedule that was removed or paused since, or whose person has lost the right, "
        "and lets work that names no device come to one that was reserved since",
        "such a schedule is paused, such a device is reserved, and the engine hears of a restore before its timers",
        (
            "tests/core/people/test_restored_rights.py::test_a_schedule_that_ended_since_begins_nothing",
            "tests/core/people/test_restored_rights.py::test_a_device_that_was_reserved_since_is_reserved",
        ),
        part="constellations that were cancelled since go on unless their work may not be repeated, and secrets that "
        "were removed or bound since are as in the backup; without the history until then nobody knows",
    ),
    Threat(
        "T174",
        "work that names no device comes to a reserved one: a step of a goal whose model chooses it, a call on the "
        "device that a result names, which a device can write, or a call that is made again where it ran before",
        "the devices of a goal and those that a result may name leave a reserved one out unless the plan names it, and "
        "such a call is not made again there",
        ("tests/guard/test_reserved_devices.py", "tests/core/fleet/test_reserving.py"),
        part="work that names the device goes there; T191 tells who may name it",
    ),
    Threat(
        "T176",
        "a file in a granted folder holds up the call that meets it: a row of accents that takes a search hours, a "
        "time that no ZIP file has, a line of a log with a time of the year 1, a picture of a megabyte with thousands "
        "of scans; or a name becomes a place outside of the folder into which a ZIP file is unpacked on Windows",
        "signs are folded one by one, times are those that the format has, a JPEG has at most 100 scans, a file is "
        "packed as long as it was when it was opened, and such a name is left out with its reason",
        ("tests/guard/test_odd_contents.py",),
        part="what one call reads is bounded by its time and memory alone, as a sparse file that is packed",
    ),
    Threat(
        "T177",
        "a device changes its questions to its owner without pause, each time with a hundred long ones, until they "
        "fill the history and the disk of the hub",
        "their changes have a rate for each device, over all of its connections; one that exceeds it loses its "
        "connection, and a question that it repeats as it connects again is no change",
    ),
    Threat(
        "T178",
        "a document that two readers understand differently, or that one cannot read, at any route: names that stand "
        "twice, no numbers, numbers beyond 64 bits, depth, halves of signs, other encodings",
        "documents are read strictly and in one place; what is refused makes no event, and a number arrives as it is",
        part="a route that takes no document does not look at one",
    ),
    Threat(
        "T179",
        "the backup of another hub, restored by mistake or by a false name, takes the keys of this one away, so that "
        "nothing can open the history and the secrets that were moved aside",
        "files with other contents are moved aside with the history",
    ),
    Threat(
        "T180",
        "somebody who may start one recipe starts another, a plan, or words that mean another, stops the work of "
        "others, or makes a token that may do more",
        "such a token is held to its recipes where work is asked for, by name or by what the words mean at that time, "
        "stops only its own work, and passes on no more than it has",
        ("tests/guard/test_recipe_scopes.py",),
        part="the values of the recipe are free, and whoever may save recipes can change the text behind its name",
    ),
    Threat(
        "T182",
        "a request carries a token, a host or an origin twice, an origin that begins as ours, or a method that no "
        "route has, and some layer reads the other one of two",
        "each header that decides is read whole and once, and every other method is refused before any route",
        part="a proxy before the hub may join or drop headers",
    ),
    Threat(
        "T191",
        "a model brings work, and with it what others found, to a reserved device that no person has named: in the "
        "plan that it writes, a look, an edit, a rule, or as an assistant that gives a recipe its values",
        "a reserved device in what a model wrote is refused unless the words, values or answers of a person have its "
        "name as whole words, or a person's plan sends work there; a task on each device takes no results there",
        part="a task on each device that takes no results runs on a reserved one as well, with what its text says",
    ),
    Threat(
        "T192",
        "a token for a few recipes goes around them: it asks by A2A, stops other work that the same person started "
        "with another token, opens a session by a link, or asks again with the same key",
        "the bound is held where work is taken, whatever the door; it stops only runs of its recipes that its person "
        "started, and a link of it has its scopes",
        part="a recipe of the same name that somebody saves later is what the token starts",
    ),
    Threat(
        "T193",
        "a program that a command left behind outlives its call unseen: it forks twice, takes a session, a group or a "
        "cgroup of its own, ignores signals, hops from process to process, or has orders as its name",
        "the runner adopts what loses its parents and ends all below it; the result names it in one short line",
        part="where the agent is root a program can ask a service manager to start another one",
    ),
    Threat(
        "T194",
        "somebody who signs in in a browser where another person never signed out sees in a tab what that one was "
        "shown, as it is open, after a reload without the hub, or once the hub is back",
        "a link that signs somebody in ends the tabs of another person and what they kept; a page that began without "
        "the hub begins again if the session is another person's; nothing is kept once a page has ended",
        part="a browser without BroadcastChannel leaves the other tab as it is until it asks the hub",
    ),
    Threat(
        "T195",
        "a device that lies puts a row without a reason, or with a value of another kind, before the row of a device "
        "in trouble, so that the sentence cannot be said and the alarm of a schedule is never raised",
        "a sentence whose condition holds is an alarm also where its values cannot be told; a text from a device "
        "stands in quotes on one line, and a schedule has one notice however often it turns",
        part="a device that lies about itself is believed, and one alarm tells of the worst row alone",
    ),
    Threat(
        "T200",
        "a clone or an archive of somebody else, or a folder that all users may write, brings a data folder: its "
        "settings send a file of the user to a model, its agent and schedules run what they like, its address gets "
        "the user's token",
        "`.starloom` near a command counts only with a mark that a start of this user by its name has left there and "
        "in the user's own list",
        part="who names such a folder with `--home`, `--hub` or STARLOOM_HOME trusts it, as does `make run` in a clone",
    ),
    Threat(
        "T201",
        "a device with a code for many devices gets, unseen, the labels of a gone one whose numbered name comes to it; "
        "or one that takes the place of a reserved device gets work that names no device",
        "where no person looks, a code for many gives its own labels alone; a reservation goes on with the place",
    ),
    Threat(
        "T202",
        "of two people who decide about one constellation at the same time, one answers a question that the other has "
        "changed meanwhile, approves a plan that is no longer what was shown, or both have the same thing done",
        "a question that is asked again has another id, an answer to the one before is refused, an approval is that of "
        "one version, and a second undo or retry is refused",
        part="who may approve may change what follows a question after its answer was read by another",
    ),
    Threat(
        "T203",
        "work stays in spite of its undo, since a plan has a task of the name that the undo would have, or since it "
        "was done again meanwhile; or work that was done again is taken back unasked",
        "an undo is known by the round that it takes back; none is shared, none is made again with its work, and no "
        "work is done again before its undo has ended",
    ),
    Threat(
        "T204",
        "a program of a call gets the ledger, a socket or another open file of its agent, or one that it leaves behind "
        "keeps a port, a lock or the ledger from what comes after",
        "a program has three pipes and nothing else that is open, and what it leaves ends with its call",
        part="where the owner lets a command run any text of a shell outside of a cage, it may open what they may open",
    ),
    Threat(
        "T205",
        "somebody who may only look asks for the work of nobody, and the hub reads its whole history for one request",
        "a request for a list looks at so many constellations and no more; a page may be short and have a next one",
    ),
    Threat(
        "T206",
        "somebody who may only look previews a plan of a hundred kilobytes, or an operator sends an edit of a megabyte,"
        " that means millions of dependencies, and the hub has no memory or no time for anybody",
        "dependencies are counted while they are made, topics are looked for once, ranks are raised or made in one "
        "pass, and a batch is left at its limit",
    ),
    Threat(
        "T207",
        "somebody who may only look checks a recipe of thousands of phrases, each of which is read among all others, "
        "and the hub computes for minutes",
        "a recipe has at most 200 phrases and 100 parameters",
    ),
    Threat(
        "T208",
        "an owner whose own sign-in is limited invites somebody with more rights than that, or a stranger guesses at an"
        " invitation and reads whom it is for",
        "an invitation has no scope that its inviter lacks; what it gives is read by its secret alone, and a failed"
        " guess is noted and slowed like that at a sign-in",
    ),
    Threat(
        "T209",
        "somebody who may run work, and not approve, undoes what another person asked for: their files are moved back "
        "or go to the trash, and nobody is asked",
        "who may not approve undoes own work alone, as does a program or an assistant; the refusal names who can",
        part="work of their own may still name the same files, within the folders that a device has granted",
    ),
    Threat(
        "T197",
        "somebody who may add or rename a device calls it *all servers* or *everywhere*, and requests for several, a"
        " safety check among them, look at that one alone",
        "no device joins, is paired or is renamed under words that mean several devices, and such words never mean a"
        " single device that has them as its name from before",
        part="a name that reads like a label (*web*) stays possible, and words with it mean that device",
    ),
    Threat(
        "T196",
        "somebody who may answer questions, the starter of a plan among them, answers in place of the people whom a "
        "question names, or goes round it by a mark, a skip, or an edit or a fork that puts other work behind it",
        "only the answer of a named person counts, not that of a program with such a name; nobody else marks or skips "
        "the question, changes it or what waits for it, or what that reads; an owner may, which is a version of theirs",
        part="an owner can let anybody sign in as anyone; a plan of one's own does not have to ask",
    ),
    Threat(
        "T211",
        "somebody without a sign-in asks a hub that has no agent to hand out for one, and learns where the hub keeps"
        " its data and whose account it is",
        "the refusal says what is missing; where it would lie stands in the hub's log alone",
    ),
    Threat(
        "T212",
        "a text of a device steers the terminal of somebody who reads a document (`--json`), where JSON leaves control"
        " signs and signs of writing direction as they are",
        "each sign of a document that cannot be printed is written as JSON writes it: programs read the same",
        part="`logs --raw` and files that a person saves have what was written",
    ),
    Threat(
        "T213",
        "an operator adds rows to a list that runs, and a few kilobytes mean a million tasks, thousands of operations"
        " look at all rows each, or the rows of two operations run at once where a list goes one at a time",
        "items are refused before their tasks are made, a batch looks at a list once, its note is one line a list, and"
        " new rows come behind the last one of the same batch",
        ("tests/core/plan/test_added_items.py::test_rows_of_two_operations_take_turns_too",),
    ),
    Threat(
        "T214",
        "an altered backup brings an agent in a folder that no backup holds, which the restored hub hands to each"
        " device that joins or is upgraded, or a memory of work that an agent never did",
        "a backup with such a file is refused before anything is written",
        part="a backup holds the hub's keys and history: who can write one for an empty folder makes another hub",
    ),
    Threat(
        "T216",
        "the joining line, typed again on a device, gives it to somebody else: to a hub that answers at the address of"
        " its own, to the hub of another line, or to the owner whose code it has",
        "a device that has joined keeps its key, hub and policy: its own hub is proved by the key that it knows before"
        " anything changes, any other is refused, and at the hub a key that has joined stays where it is",
        part="`--yes` and `leave` are the owner's own words; join.py installs what the hub of its line hands out",
    ),
    Threat(
        "T217",
        "a token that may start one recipe and not read repeats a request under the key of somebody else's, and waits "
        "for the answer of their work",
        "a key belongs to the token that used it first: another token makes its own work under the same key",
    ),
    Threat(
        "T220",
        "a hub that is started with an earlier date, as from an empty battery or an old picture of a machine, takes"
        " tokens, sessions, links and join codes as good again that had ended",
        "a start at an earlier time than that of the last commit removes whatever had ended by then, before anything"
        " else is done",
        part="what had not ended yet is good for longer, as long as the date is wrong",
    ),
    Threat(
        "T221",
        "a hub sends a command with a word that a pattern of a command rule almost fits, and the agent decides for"
        " hours about that one call, or for ever, while it does nothing else",
        "patterns are followed in all their ways at once, so that a word takes time in proportion to its length; what"
        " cannot be followed so, and a command beyond the bound, is refused",
        ("tests/device_agents/policy/test_word_patterns.py",),
    ),
    Threat(
        "T230",
        "a program that a request brings changes or removes files in a granted folder for good: a plan that only writes"
        " asks nobody, as undo could take it back",
        "a program in the cage reads the granted folders and changes its own folder alone; tools for files, which keep"
        " what they replace, put what it made into a granted folder",
    ),
    Threat(
        "T218",
        "somebody joins an idle device with many slots, and steps of other people's plans that name no device bring it"
        " the names and contents of their files",
        "such a step goes to a device of the person on whose device its values were made, waits up to 30 s for one that"
        " is busy, and gets no second attempt elsewhere; `why` and the preview say so",
        part="after 30 s, or where no device of that person can do the step, another one has it; a plan that names its"
        " devices decides alone",
    ),
    Threat(
        "T222",
        "a page names a place in a stream, or a stream, that no database can look for, and fills the hub's log with"
        " errors",
        "both are bounded in the frame itself, and what is beyond is refused as no frame of the stream",
    ),
    Threat(
        "T223",
        "the clock of a device was far ahead when its owner allowed one call; set right, the allowance lasts for years"
        " and a call that nobody expects any more runs by it",
        "a question or an answer from more than a day ahead is over, as one from more than a day ago is",
        part="a clock that is set back by less than a day lengthens the day by as much",
    ),
    Threat(
        "T224",
        "on a shared computer somebody opens again, while the hub is away, a tab that was closed before its person"
        " signed out, and reads what it had shown",
        "what a tab kept before the last end of a sign-in in its browser counts for nothing, and goes when it is read",
        part="a browser keeps what a closed tab stored, as files of its own, until it forgets the tab",
    ),
    Threat(
        "T231",
        "a person with few rights marks the notice of a schedule or of a recipe as seen, so that those whom it tells of"
        " trouble never read it, or removes a schedule that somebody else approved",
        "each person marks a notice alone; an approved schedule is removed or taken over by its owner or by a person"
        " who may approve",
        part="the note that a device remembers more than the history is one for all, and whoever may let devices in"
        " marks it as seen; *Activity* keeps the note and who marked it",
    ),
    Threat(
        "T228",
        "somebody who may run work, and not approve, retries approved work again and again or after a person cancelled"
        " it, goes on with it after a person's pause, steers it by a hint, or keeps its tasks from those who may edit",
        "a retry is judged by all that would run again; where that, or what is to come, asks a person, it needs the"
        " right to approve, as do a resume, a hint and a draft",
        part="the retries of the plan's own policy were approved with it",
    ),
    Threat(
        "T229",
        "somebody who may run work, and not approve, fires, resumes as their own or removes a schedule whose plan never"
        " asks",
        "who saves such a schedule has the right to approve it, and that counts as its approval",
        part="one that an earlier release kept has that approval from its next change on",
    ),
    Threat(
        "T232",
        "somebody who may not approve puts other work behind the name of another person's recipe, or removes it; or a"
        " person who may approve starts a recipe of theirs, and folders go into the trash unasked",
        "a recipe is changed and removed by its owner or by somebody who may approve; what a recipe of anyone else"
        " trashes is asked about",
        part="a recipe that an earlier release kept counts as one of somebody who may approve",
    ),
    Threat(
        "T233",
        "a text of a device in a table that somebody opens in a spreadsheet runs there: the spreadsheet parts cells by"
        " semicolons or tabs, or knows signs of full width",
        "a text that begins like a formula gets a quote before it, and a row with one of those signs is quoted whole",
        part="CSV files of a device's own are saved as they are",
    ),
    Threat(
        "T235",
        "a device gives a file of an answer a name that no disk takes, and none of the files of the answer is saved",
        "a name is cut to what every disk takes, with its ending",
    ),
    Threat(
        "T254",
        "a file whose name is as long as a disk takes keeps each file of a copy back: one like it is there, and there"
        " is no room for a number behind it",
        "the name is cut to make room for the number, before its ending",
    ),
    Threat(
        "T255",
        "a Markdown of a few kilobytes, a CSV of commas or a table of countless columns, which a device or a model"
        " gives, keeps the page of each of its readers busy for minutes",
        "Markdown is read by a parser that never goes back, and a table has as many columns as a page can hold",
        part="signs and columns that are tried one by one are held by MarkdownView.test.tsx, files.test.ts and"
        " table.test.ts",
    ),
    Threat(
        "T256",
        "a device gives the size of its file as a text or a list, and the terminal shows nothing of the answer",
        "a size that is no whole number is said to be unknown",
    ),
    Threat(
        "T236",
        "an MCP server behaves until its owner has allowed its tools, and after a restart of the agent offers others"
        " under the same names, or more of them, that count as harmless as the first",
        "what it offered at the first start with its entry is kept; what is new or changed since asks at each call",
        part="a tool that its owner names in `mcp.toml` counts as declared; no list tells what a server really does",
    ),
    Threat(
        "T234",
        "the reason of a failure, a grant or a value of a device goes on in a line that reads as the product's own,"
        " with a command as the way out",
        "a text with several lines goes on indented on the terminal; the way out begins its line",
        part="`logs` prints an output line by line",
    ),
    Threat(
        "T225",
        "a device, a model or a program puts the end of a line or terminal commands into its words, and the log of the"
        " hub has a line that nobody wrote, or steers the terminal of whoever reads it",
        "a record of the hub, of a worker or of an agent is one line, and so is an error: other signs are written out",
        ("tests/process/test_log_lines.py",),
        part="what the operating system or Python itself writes to stderr as a process ends is not formatted",
    ),
    Threat(
        "T226",
        "a token or a sign-in that is made while the role of its holder is narrowed keeps the rights that were taken",
        "the core holds each new token to the role that its holder has when it is committed, not when it was asked for",
    ),
    Threat(
        "T227",
        "what somebody allowed for good goes on after their role has become too small to allow it",
        "a role below approver ends the standing approvals of its holder; their calls ask again",
    ),
    Threat(
        "T241",
        "a device joins, or is called, as another with signs that a reader takes for those of the other: `nasl` beside"
        " `nas1`, Armenian or Cherokee letters within a Latin word",
        "such names count as one: the second gets a number behind it or is refused, for devices and people",
        ("tests/protocol/text/test_look_alikes.py",),
        part="pairs of letters such as `rn` and `m`, and whole words of the alphabets that look least Latin, are not"
        " compared; names that were given before stay",
    ),
    Threat(
        "T251",
        "a stolen phone is revoked while a file or a notice waits on it, and its open page still gives them out",
        "the tab ends its calls, erases what it was given and what it noted; the hub refuses the file from then on",
        ("tests/e2e/test_tab.py::test_a_removed_device_says_so_and_joins_by_a_new_code",),
        part="a phone that is out of reach learns of it when it is back, and what was saved before stays; what a tab"
        " erases is held by agent.test.ts",
    ),
    Threat(
        "T243",
        "somebody's role is narrowed or their invitation revoked, and what they set up goes on in their name",
        "their sign-ins, tokens, schedules and standing approvals that rest on it end in the same commit",
        (
            "tests/core/clock/test_schedules.py::test_a_revoked_token_stops_its_schedules_at_once_and_says_why",
            "tests/core/clock/test_schedules.py::test_an_owner_who_may_only_look_fires_nothing",
            "tests/guard/test_role_races.py::test_t238_",
        ),
        part="work under way was judged when it was accepted and goes on; `starloom cancel --of NAME` ends it",
    ),
    Threat(
        "T242",
        "a device says in its receipt that a call had no effect, or that it never began one, and work that must not be"
        " repeated is done again elsewhere",
        "a receipt without a call that was seen to begin proves nothing, nor does a ledger newer than the lease or too"
        " old to remember; a person is asked",
        (
            "tests/core/fleet/test_draining.py::test_a_ledger_that_lacks_begun_work_proves_nothing_of_its_effect",
            "tests/core/fleet/test_draining.py::test_only_the_ledger_that_was_there_can_say_that_work_never_began",
        ),
        part="a device that does a call and denies its effect in the receipt is believed, as the effect is where no hub"
        " looks; the history keeps each attempt with its device and receipt, and a task of the plan may verify",
    ),
    Threat(
        "T240",
        "words of somebody else in `starloom ls`, or a recipe or brief that is written to the screen, steer the"
        " terminal or turn the direction of writing, so that a line reads other than it is",
        "a terminal is given each text with such signs written out; a pipe or a file is given it as it is",
    ),
    Threat(
        "T239",
        "the name of a device, a piece of work or a file has markup of the terminal's library, and shows as a link to"
        " elsewhere, in the colour of a state or with another sign than it has",
        "the terminal reads no markup and no codes of signs in any text; colours come beside it",
    ),
    Threat(
        "T237",
        "the title of a recipe, the name of a piece of work or the system of a device is a command that runs in the"
        " zsh of whoever presses Tab behind `starloom recipe run`",
        "a completion gets no sign that a shell evaluates within quotes, and no name that reads as an option",
    ),
    Threat(
        "T244",
        "an altered backup brings rights, approved plans, schedules or a policy of somebody else into a hub that has a"
        " history: its manifest fits, and its keys could sign anything",
        "a data folder keeps the sums of the backups that it has made, which are in no backup, and takes no other"
        " unless a person types its sum; what is restored is compared with the manifest of that sum as it is read",
        part="on a new computer nothing is known: the restore says the sum, and what would act without a question",
    ),
    Threat(
        "T248",
        "a program that may write to the shard's Redis leaves one entry in the inbox that no hub wrote, as half an"
        " input or none, and the hub takes no work any more, nor does the next one",
        "what cannot be read is refused, noted in the log and settled, like an input that is wrong",
        part="a term or a position that is no number ends the work until Redis is emptied, which loses nothing",
    ),
)
