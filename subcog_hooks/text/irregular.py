"""English words whose forms no stemmer brings together: `went` to `go`, `indices` to `index`. Data, and nothing else.

A form that is more often another word is left out: `bound` (an upper bound), `ground`, `lay`, `saw`, `wound`, `best`.
"""

_FORMS = """
arise arose arisen; awake awoke awoken; become became; begin began begun; bend bent; bite bit bitten; bleed bled; blow blew
blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen;
cling clung; come came; creep crept; deal dealt; dig dug; do did done does; draw drew drawn; dream dreamt; drink drank drunk;
drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fly flew flown;
forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave
given; go went gone goes; grow grew grown; hang hung; have had has; hear heard; hide hid hidden; hold held; keep kept; know
knew known; lead led; learn learnt; leave left; lend lent; light lit; lose lost; make made; mean meant; meet met; mislead
misled; overcome overcame; override overrode overridden; overwrite overwrote overwritten; pay paid; prove proven; rebuild
rebuilt; redo redid redone; rerun reran; rewrite rewrote rewritten; ride rode ridden; ring rang rung; rise rose risen; run
ran; say said; see seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink
shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun;
spring sprang sprung; stand stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; sweep swept; swim swam
swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown; undergo
underwent undergone; understand understood; undertake undertook; undo undid undone; wake woke woken; wear wore worn; weave
wove woven; win won; withdraw withdrew withdrawn; withhold withheld; write wrote written;
analysis analyses; appendix appendices; axis axes; basis bases; child children; crisis crises; criterion criteria; foot feet;
half halves; hypothesis hypotheses; index indices; leaf leaves; life lives; man men; matrix matrices; mouse mice; parenthesis
parentheses; person people; phenomenon phenomena; self selves; shelf shelves; synopsis synopses; thesis theses; tooth teeth;
vertex vertices; wife wives; woman women
"""

BASES = {form: base for base, *forms in map(str.split, _FORMS.split(";")) for form in forms}
