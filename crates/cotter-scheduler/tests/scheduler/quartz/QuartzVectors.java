import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.TimeZone;
import org.quartz.CronExpression;

/**
 * Asks Quartz's own CronExpression for the truth about many expressions.
 *
 * Writes one line per question into the file that its argument names, fields separated by tabs:
 *
 *   next   EXPRESSION  ZONE  AFTER  T1,T2,...   the next instants (seconds since 1970), "-" when none
 *   parse  EXPRESSION  ok|error
 *
 * The random part is seeded, so that two runs write the same with the same Java.
 */
public final class QuartzVectors {
    private static final String[] EXPRESSIONS = {
        "0 0 2 1 * ? *", "0 15 10 ? * MON-FRI", "0 15 10 ?  *  6L 2002-2006", "0 0 9-21 ? * 2-7",
        "0/2 * * * * ?", "0/10 * * ? * *", "0 5/15 * * * ?", "5/15 * * * * ?", "0 0 12 L * ?", "0 0 12 ? * L",
        "0 0 12 LW * ?", "0 0 12 L-3 * ?", "0 0 12 L-3W * ?", "0 0 12 L-30 * ?", "0 0 12 5W * ?",
        "0 0 12 1W * ?", "0 0 12 15W * ?", "0 0 12 28W * ?", "0 0 12 30W * ?", "0 0 12 31W * ?",
        "0 0 12 ? * 4#2", "0 0 12 ? * 1#1", "0 0 12 ? * 7#5", "0 0 12 ? * FRI#3", "0 0 12 ? * FRI-MON",
        "0 0 22-2 * * ?", "0 0 12 25-5 * ?", "0 0 12 1 NOV-FEB ?", "50-10 0 12 * * ?", "0 0 12 29 2 ?",
        "0 0 12 29 FEB ?", "0 0 0 29 2 ? 2000/4", "0 0 0 31 12 ? 2099", "0 0 0 1 1 ? 2098-2099", "0 0 0 30 2 ?",
        "0 0 12 1/5 * ?", "0 0 12 1/9 * ?", "0 0 12 10,20,30 * ?", "0 0 0/6 * * ?", "0 30 2 * * ?",
        "0 30 1 * * ?", "0 0 2 * * ?", "0 59 1 * * ?", "0 0 3 * * ?", "0 0/30 * * * ?", "0 0/20 1-3 * * ?",
        "0 0 * * * ?", "0 30 * * * ?", "30 * * * * ?", "* * * * * ?", "0 0 0 * * ?", "0 15 0 * * ?",
        "0 0 0,12 * * ?", "0 0 12 ? * MON", "0 0 12 ? * 6L", "0 0 12 ? * 2L", "0 0 12 ? JAN,JUN MON#1",
        "0 0 0 L 2 ?", "0 0 12 LW 2,8 ?", "0 0 12 ? * SUN,SAT", "0 45 1 * * ?", "0 15 2 * * ?",
        "59 59 23 31 12 ?", "0 0 0 1 1 ?", "0 0 12 13 * ? 2020/3", "1,2,3 4,5 6 7 8 ?", "0 0 4/7 * * ?",
        "0 0-5 14 * * ?", "0 0/5 14,18 * * ?", "0 10,44 14 ? 3 WED", "0 11 11 11 11 ?", "0 30 10 ? * 6#3",
        "0 0 12 ? * 3-5/2", "0 0 12 5-25/10 * ?", "0 */7 * * * ?", "*/17 0 * * * ?", "0 0 12 1 */4 ?",
    };

    private static final String[] ZONES = {
        "UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Shanghai", "Pacific/Apia",
        "Asia/Kolkata", "America/Sao_Paulo", "Pacific/Auckland", "Asia/Tehran", "America/St_Johns", "Africa/Cairo",
    };

    /** Each is asked only whether it is an expression at all. */
    private static final String[] WORDS = {
        "* * * * * *", "* * * * * ?", "* * * ? * *", "* * * ? * ?", "0 0 9-21 * * 2-7", "0 0 0 1 * 1",
        "0 0 0 * * 1", "0 0 0 1 * *", "60 * * * * ?", "* 60 * * * ?", "* * 24 * * ?", "* * * 32 * ?",
        "* * * 0 * ?", "* * * * 13 ?", "* * * * 0 ?", "* * * ? * 8", "* * * ? * 0", "*/0 * * * * ?",
        "1,,2 * * * * ?", "0 0 0 1, * ?", "0 0 0 ,1 * ?", "0/60 * * * * ?", "0 0/60 * * * ?", "0 0 0/24 * * ?",
        "0 0 0 1/32 * ?", "0 0 0 ? * 1/8", "0 0 0 1 1/13 ?", "0/59 * * * * ?", "0 0 0/23 * * ?",
        "/5 * * * * ?", "0 /5 * * * ?", "0 0 0 ? * MONDAY", "0 0 0 ? * MON-FRIDAY", "0 0 0 1 JANUARY ?",
        "0 0 0 ? * mon-fri", "0 0 0 1 jan ?", "0 0 0 1L * ?", "0 0 0 L,1 * ?", "0 0 0 1,L * ?", "0 0 0 L-31 * ?",
        "0 0 0 L-30 * ?", "0 0 0 LW,1 * ?", "0 0 0 1W,15W * ?", "0 0 0 1-5W * ?", "0 0 0 32W * ?",
        "0 0 0 ? * 6#6", "0 0 0 ? * 6#0", "0 0 0 ? * 6#", "0 0 0 ? * #2", "0 0 0 ? * 6L,2L", "0 0 0 ? * 2L,6#3",
        "0 0 0 ? * 6#3,2", "0 0 0 ? * 2,6#3", "0 0 0 ? * FRIL", "0 0 0 ? * MON#2", "0 0 0 ? * 8L", "0 0 0 5C * ?",
        "0 0 0 ? * 1C", "0 0 0 C * ?", "0 0 0 W * ?", "0 0 0 WL * ?", "0 0 0 L-3W * ?", "0 0 0 LW-3 * ?",
        "0 0 0 1 1 ? 1969", "0 0 0 1 1 ? 1970", "0 0 0 1 1 ? 2099", "0 0 0 1 1 ? 2100", "0 0 0 1 1 ? 2010-2005",
        "0 0 0 1 1 ? 2000/5", "0 0 0 1 1 ? */5", "0 0 0 1 1", "0 0 0 1 1 ? 2000 1", "", "   ", "a b c d e f",
        "0 0 0 1 1 X", "0 0 0 1 FOO ?", "0 0 0 ? * FOO", "? * * * * ?", "* ? * * * ?", "0 0 0 ?? * 1",
        "0 0 0 ?1 * 1", "0 0 0 1 ? ?", "*1 * * * * ?", "** * * * * ?", "*,5 * * * * ?", "5,* * * * * ?",
        "1-2-3 * * * * ?", "1/2/3 * * * * ?", "1- * * * * ?", "-1 * * * * ?", "1/ * * * * ?", "5x * * * * ?",
        "5L * * * * ?", "5W * * * * ?", "5#1 * * * * ?", "L * * * * ?", "0 0 0 ? * L-3", "0 0 0 ? * 3W",
        "0 0 0 3#1 * ?", "0 0 0 1 L ?", "0 0 0 1 1L ?", "55-5 * * * * ?", "0 0 0 ? * SAT-SUN", "0 0 0 ? * FRI/2",
        "0 0 0 1 JAN/3 ?", "0 0 0 1 JAN-DEC/3 ?", "0 0 0 ? * MON-FRI/2", "  0   0 0 1 1   ?  ", "0\t0\t0 1 1 ?",
        "007 * * * * ?", "123 * * * * ?", "@daily", "*/15 * * * *", "0 0 0 1 JAN-3 ?", "0 0 0 ? * MON-6",
        "0 0 0 ? * 2-FRI", "0 0 0 * * L", "0 0 0 L * *", "0 0 0 ? * ?", "0 0 0 1-31 * *", "0 0 0 1-31 * 1-7",
    };

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(args[0], StandardCharsets.UTF_8);
        Random random = new Random(20240229);
        for (String word : WORDS) {
            out.println("parse\t" + word.replace("\t", "\\t") + "\t" + (accepts(word) ? "ok" : "error"));
        }
        for (String expression : EXPRESSIONS) {
            for (String zone : ZONES) {
                for (long after : starts(zone, 4, random)) {
                    ask(out, expression, zone, after);
                }
            }
        }
        for (int i = 0; i < 1500; i++) {
            String expression = Made.expression(random);
            String zone = ZONES[random.nextInt(ZONES.length)];
            for (long after : starts(zone, 2, random)) {
                ask(out, expression, zone, after);
            }
        }
        out.close();
    }

    private static boolean accepts(String expression) {
        try {
            new CronExpression(expression);
            return true;
        } catch (ParseException | RuntimeException e) {
            return false;
        }
    }

    private static void ask(PrintStream out, String text, String zone, long after) throws ParseException {
        CronExpression expression = new CronExpression(text);
        expression.setTimeZone(TimeZone.getTimeZone(zone));
        List<String> found = new ArrayList<>();
        Date at = new Date(after * 1000);
        for (int i = 0; i < 3; i++) {
            at = expression.getTimeAfter(at);
            if (at == null) {
                break;
            }
            found.add(Long.toString(at.getTime() / 1000));
        }
        String list = found.isEmpty() ? "-" : String.join(",", found);
        out.println("next\t" + text + "\t" + zone + "\t" + after + "\t" + list);
    }

    /** Every other start lies up to 30 hours before a change of the clock. */
    private static List<Long> starts(String zone, int count, Random random) {
        List<Long> starts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long any = Math.floorMod(random.nextLong(), 4_000_000_000L);
            ZoneOffsetTransition change = ZoneId.of(zone).getRules().nextTransition(Instant.ofEpochSecond(any));
            if (i % 2 == 1 && change != null) {
                any = Math.max(0, change.toEpochSecond() - random.nextInt(30 * 3600));
            }
            starts.add(any);
        }
        return starts;
    }

    /** Random expressions that Quartz accepts. */
    private static final class Made {
        static String expression(Random r) {
            String second = r.nextInt(3) > 0 ? "0" : field(r, 0, 59);
            String minute = r.nextInt(4) == 0 ? "0" : field(r, 0, 59);
            String hour = field(r, 0, 23);
            String day = "?";
            String week = "?";
            switch (r.nextInt(3)) {
                case 0 -> day = monthDay(r);
                case 1 -> week = weekDay(r);
                default -> day = "*";
            }
            String month = r.nextInt(2) == 0 ? "*" : field(r, 1, 12);
            String year = r.nextInt(4) == 0 ? " " + (1970 + r.nextInt(130)) + "/" + (1 + r.nextInt(5)) : "";
            return second + " " + minute + " " + hour + " " + day + " " + month + " " + week + year;
        }

        private static String field(Random r, int min, int max) {
            int a = min + r.nextInt(max - min + 1);
            int b = min + r.nextInt(max - min + 1);
            return switch (r.nextInt(6)) {
                case 0 -> "*";
                case 1 -> a + "," + b;
                case 2 -> a + "-" + b;
                case 3 -> a + "/" + (1 + r.nextInt(max / 2));
                case 4 -> a + "-" + b + "/" + (1 + r.nextInt(4));
                default -> "" + a;
            };
        }

        private static String monthDay(Random r) {
            int a = 1 + r.nextInt(31);
            return switch (r.nextInt(6)) {
                case 0 -> "L";
                case 1 -> "LW";
                case 2 -> "L-" + r.nextInt(10);
                case 3 -> a + "W";
                default -> field(r, 1, 31);
            };
        }

        private static String weekDay(Random r) {
            int a = 1 + r.nextInt(7);
            return switch (r.nextInt(4)) {
                case 0 -> a + "L";
                case 1 -> a + "#" + (1 + r.nextInt(5));
                default -> field(r, 1, 7);
            };
        }
    }
}
