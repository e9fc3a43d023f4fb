"""Words that say little: function words, which no query needs, and the everyday words of prompts, which weigh less."""

# English function words. Apostrophes are closed up, as analysis.fold does.
STOP = frozenset(
    """
a about above after again all already also although always am an and another any anyone anything are arent as at be because
been before being below between both but by can cannot cant could couldnt did didnt do does doesnt doing dont done down
during each either else ever every everything few for from further get gets getting go goes going gonna got had hadnt has
hasnt have havent having he hence her here hers herself him himself his how however i id if ill im in indeed instead into is
isnt it its itself ive just let lets like lot many may maybe me might mine more most much must my myself neither never no
nor not nothing now of off often oh ok okay on once one only onto or other others otherwise our ours ourselves out over own
per please quite rather really same say shall she should shouldnt since so some somehow someone something sometimes still
such than thank thanks that thats the their theirs them themselves then there theres therefore these they theyre thing
things this those though through thus to together too toward towards under until unless up upon us very was wasnt we well
were werent weve what whats whatever when whenever where wheres whether which while who whom whose why will with within
without wont would wouldnt yes yet you youd youll your youre yours yourself youve
""".split()
)

# What developers write in nearly every prompt, whatever it is about. In a small store they look rare; they are not evidence.
EVERYDAY = frozenset(
    """
able access actual actually add added adding allow app application apply approach ask available back bad based basic best
better big bit bug build call called change changed changes check clean clear code command complete correct correctly create
created current currently data default define delete describe design details develop different difference difficult directly
do docs document easy edit end ensure error errors example examples exist existing explain fail failed failing fails feature
file files find fine first fix fixed folder follow following found full function general give given good great handle happen
happens help idea implement implemented implementing important improve include information inside issue issues keep kind
know last latest left line list look looking looks made main make makes making matter mean means method missing move need
needed needs new next nice note number old open option options order page part pass people place plan point possible problem
problems project proper properly provide purpose put question quick read ready real reason recommend recommended related
remember remove removed require required result return review right run running same see seem seems select send set setting
setup should show side similar simple simply single small solution solve sort specific start started state step steps stop
stuff suggest support supposed sure system take task tell test tests text think time todo top try trying turn two type
understand update updated use used useful user users uses using value version want wanted wants way ways what whole wonder
word work working works write writing wrong
""".split()
)
