// Notes and search: what an agent should know of its user.
import { LociClient } from "loci-memory";

const client = new LociClient(); // LOCI_URL, else http://127.0.0.1:7437
await client.notes.save({ content: "Ada prefers night trains to planes", tags: ["travel"] });
const { matches } = await client.search("how does Ada like to travel?");
console.log(matches[0].passage);
