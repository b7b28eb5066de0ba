/** The gateway's test cards and how each of them behaves. */

import type { Card, CardBehaviour, ThreeDsFlow } from "../world/records.ts";

type Outcome = CardBehaviour["outcome"];

const BEHAVIOURS = new Map<string, CardBehaviour>();

function addCards(threeDs: ThreeDsFlow, outcome: Outcome, ...numbers: string[]) {
  for (const number of numbers) BEHAVIOURS.set(number, { threeDs, outcome });
}

function addBankCard(bank: string, outcome: Outcome, number: string) {
  BEHAVIOURS.set(number, { threeDs: "otp", outcome, bank });
}

addCards("otp", "accept", "4811111111111114", "5211111111111117", "3528203324564357");
addCards("otp", "accept", "370192169722458", "4916994064252017", "5306889942833340");
addCards("otp", "deny_by_bank", "4911111111111113", "5111111111111118", "3528512944932269");
addCards("otp", "deny_by_bank", "374296354400881", "4604633194219929", "5424184049821670");
addCards("attempted", "accept", "4411111111111118", "5410111111111116", "3528868047864225");
addCards("attempted", "accept", "373747726661940");
addCards("attempted", "deny_by_bank", "4711111111111115", "5511111111111114", "3528909779837631");
addCards("attempted", "deny_by_bank", "370356097975856");
// FDS: the fraud detection system of the gateway.
addCards("attempted", "deny_by_fds", "4611111111111116", "5411111111111115", "3528185267171623");
addCards("attempted", "deny_by_fds", "378096218340018");
addCards("frictionless", "accept", "4556557955726624", "4024007189449340", "5333259155643223");
addCards("frictionless", "deny_by_bank", "4485436455354151", "5328720384582224");
addCards("slow", "accept", "4024007176265022", "5487971631330522");
addCards("impossible", "deny_by_bank", "4716125059847899", "5250548692069390");
addCards("otp", "insufficient_funds", "4472429869996670");
BEHAVIOURS.set("4806000000000081", {
  threeDs: "otp",
  outcome: "insufficient_funds",
  deniesAbove: 30_000,
});
addCards("outdated", "deny_by_bank", "4723249479082225", "5555666677771111");
// The gateway's current lists have no card for a challenge. These older cards still work.
addCards("otp", "challenge", "4511111111111117", "5510111111111115");
addBankCard("mandiri", "accept", "4617006959746656");
addBankCard("cimb", "accept", "4599207887122414");
addBankCard("bni", "accept", "4105058689481467");
addBankCard("bca", "accept", "4773776057051650");
addBankCard("bri", "accept", "4365026335737199");
addBankCard("mega", "accept", "4201910000000009");
addBankCard("maybank", "accept", "4055772026036004");
addBankCard("mandiri", "deny_by_bank", "4617008560831760");
addBankCard("bni", "deny_by_bank", "4105054148541363");
addBankCard("bca", "deny_by_bank", "4773775202011809");
addBankCard("bri", "deny_by_bank", "4365028662512583");
for (const number of ["4617006959746656", "4105058689481467", "5264221038874659"]) {
  BEHAVIOURS.set(number, { ...behaviourOf(number), hasPoints: true });
}

/** Numbers that are not in the list behave like an accepted card. */
export function behaviourOf(number: string): CardBehaviour {
  return BEHAVIOURS.get(number) ?? { threeDs: "otp", outcome: "accept" };
}

export function brandOf(number: string): Card["brand"] {
  if (/^3[47]/.test(number)) return "amex";
  if (/^35/.test(number)) return "jcb";
  return /^(5|2)/.test(number) ? "mastercard" : "visa";
}

/** The issuing bank of a test card, by its first digits. */
export function bankOfBin(bin: string): string | null {
  if (bin === "45563300") return "bca";
  for (const [number, { bank }] of BEHAVIOURS) {
    if (bank && bin.length >= 6 && number.startsWith(bin)) return bank;
  }
  return null;
}

export function passesLuhn(number: string): boolean {
  const sum = [...number].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
