import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/**
 * Kafka Streams doing the jobs of the benchmark, as its documentation would have one write them.
 *
 * <p>A throughput job reads its input topic from the beginning, ends when all records are processed and their results
 * committed, and prints one line of JSON. The job {@code latency} prints a line when it runs and ends when standard
 * input does.
 *
 * <p>Nothing is added to the path of a record: what was processed is seen in Kafka Streams' own metrics, what was
 * committed in the group's offsets, and what readers see in the end offsets of the output topic.
 */
public final class KafkaStreamsPeer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final long POLL_MILLIS = 5;
    private static final long OUTPUT_POLL_NANOS = 20_000_000;

    /** Records sent to the repartition topic. */
    private static final LongAdder REPARTITIONED = new LongAdder();

    private final Map<String, String> arguments = new HashMap<>();
    private final Properties properties = new Properties();

    public static void main(final String[] args) throws Exception {
        try {
            new KafkaStreamsPeer(args).run();
        } catch (final Exception error) {
            error.printStackTrace();
            System.exit(1); // threads of Kafka's clients may still live
        }
        System.exit(0);
    }

    private KafkaStreamsPeer(final String[] args) {
        for (int i = 0; i + 1 < args.length; i += 2) {
            if (args[i].equals("--property")) {
                final String[] parts = args[i + 1].split("=", 2);
                properties.put(parts[0], parts[1]);
            } else {
                arguments.put(args[i], args[i + 1]);
            }
        }
    }

    private String argument(final String name) {
        final String value = arguments.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }

    private void run() throws Exception {
        final Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, argument("--application-id"));
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, argument("--bootstrap"));
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, argument("--guarantee"));
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, argument("--threads"));
        config.put(StreamsConfig.STATE_DIR_CONFIG, argument("--state-dir"));
        config.putAll(properties);
        final String workload = argument("--workload");
        final Topology topology = topology(workload, argument("--input"), argument("--output"));
        final Properties adminConfig = new Properties();
        adminConfig.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, argument("--bootstrap"));
        try (Admin admin = Admin.create(adminConfig); KafkaStreams streams = new KafkaStreams(topology, config)) {
            if (workload.equals("latency")) {
                runUntilTold(streams);
            } else {
                measure(admin, streams, workload);
            }
        }
    }

    // --- the jobs

    private static Topology topology(final String workload, final String input, final String output) {
        final StreamsBuilder builder = new StreamsBuilder();
        final Serde<String> string = Serdes.String();
        final Serde<Long> number = Serdes.Long();
        final Serde<JsonNode> json = Serdes.serdeFrom((topic, node) -> write(node), (topic, bytes) -> read(bytes));
        switch (workload) {
            case "filter" -> builder.stream(input, Consumed.with(string, json))
                .filter((key, order) -> order.get("amount").asLong() > 50)
                .mapValues(KafkaStreamsPeer::invoice)
                .to(output, Produced.with(string, json));
            case "sum", "sum-many", "sum-uncached" -> builder.stream(input, Consumed.with(string, json))
                .groupByKey()
                .aggregate(
                    () -> 0L,
                    (key, order, total) -> total + order.get("amount").asLong(),
                    Materialized.with(string, number))
                .toStream()
                .to(output, Produced.with(string, number));
            case "window" -> builder.stream(input, Consumed.with(string, json))
                .groupByKey()
                .windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, MINUTE))
                .count()
                .toStream()
                .to(output, Produced.with(
                    WindowedSerdes.timeWindowedSerdeFrom(String.class, MINUTE.toMillis()), number));
            case "wordcount" -> builder.stream(input, Consumed.with(string, string))
                .flatMapValues(KafkaStreamsPeer::split)
                .groupBy((key, word) -> word, Grouped.with(string, string))
                .count()
                .toStream()
                .to(output, Produced.with(string, number));
            case "rekey" -> builder.stream(input, Consumed.with(string, json))
                .groupBy(
                    (key, order) -> {
                        REPARTITIONED.increment();
                        return "group-" + order.get("id").asLong() % 5000;
                    },
                    Grouped.with(string, json))
                .count()
                .toStream()
                .to(output, Produced.with(string, number));
            case "table" -> builder.stream(input.split(",")[0], Consumed.with(string, json))
                .join(
                    builder.table(input.split(",")[1], Consumed.with(string, json)),
                    KafkaStreamsPeer::withCustomer,
                    Joined.with(string, json, json))
                .to(output, Produced.with(string, json));
            case "join" -> builder.stream(input.split(",")[0], Consumed.with(string, json))
                .join(
                    builder.stream(input.split(",")[1], Consumed.with(string, json)),
                    KafkaStreamsPeer::both,
                    JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(5), Duration.ofSeconds(5)),
                    StreamJoined.with(string, json, json))
                .to(output, Produced.with(string, json));
            case "latency" -> builder.stream(input, Consumed.with(string, json))
                .groupByKey()
                .count()
                .toStream()
                .to(output, Produced.with(string, number));
            default -> throw new IllegalArgumentException("no such workload: " + workload);
        }
        return builder.build();
    }

    private static JsonNode invoice(final JsonNode order) {
        final ObjectNode invoice = JSON.createObjectNode();
        invoice.set("id", order.get("id"));
        invoice.put("total", order.get("amount").asLong() * 1.2);
        return invoice;
    }

    private static JsonNode withCustomer(final JsonNode order, final JsonNode customer) {
        final ObjectNode joined = JSON.createObjectNode();
        joined.set("id", order.get("id"));
        joined.set("total", customer.get("name"));
        return joined;
    }

    private static JsonNode both(final JsonNode one, final JsonNode other) {
        final ObjectNode joined = JSON.createObjectNode();
        joined.putArray("id").add(one.get("id")).add(other.get("id"));
        joined.put("total", one.get("amount").asLong() + other.get("amount").asLong());
        return joined;
    }

    private static List<String> split(final String line) {
        final String[] words = line.split(" ");
        REPARTITIONED.add(words.length);
        return Arrays.asList(words);
    }

    private static JsonNode read(final byte[] bytes) {
        try {
            return bytes == null ? null : JSON.readTree(bytes);
        } catch (final IOException error) {
            throw new SerializationException(error);
        }
    }

    private static byte[] write(final JsonNode node) {
        try {
            return node == null ? null : JSON.writeValueAsBytes(node);
        } catch (final IOException error) {
            throw new SerializationException(error);
        }
    }

    // --- latency

    private static void runUntilTold(final KafkaStreams streams) throws Exception {
        streams.start();
        while (streams.state() != KafkaStreams.State.RUNNING) {
            check(streams);
            Thread.sleep(POLL_MILLIS);
        }
        System.out.println(JSON.writeValueAsString(Map.of("state", "running")));
        while (System.in.read() >= 0) {
            // until its end
        }
        check(streams);
        streams.close();
    }

    // --- throughput

    private void measure(final Admin admin, final KafkaStreams streams, final String workload) throws Exception {
        final String group = argument("--application-id");
        final Set<String> inputs = Set.of(argument("--input").split(","));
        final long records = Long.parseLong(argument("--records"));
        final List<TopicPartition> output = partitions(admin, argument("--output"));

        final long launched = System.nanoTime() - sinceLaunch();
        final long started = System.nanoTime();
        final long cpuAtStart = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
        streams.start();
        long firstRecord = 0;
        long firstResult = 0;
        long nextLook = 0;
        List<Metric> processed = List.of();
        while (true) {
            check(streams);
            if (processed.isEmpty() && streams.state() == KafkaStreams.State.RUNNING) {
                processed = processedMetrics(streams);
            }
            final long count = processed.stream().mapToLong(m -> ((Double) m.metricValue()).longValue()).sum();
            final long now = System.nanoTime();
            if (firstRecord == 0 && count > 0) {
                firstRecord = now;
            }
            if (firstResult == 0 && firstRecord != 0 && now >= nextLook) {
                if (visible(admin, output)) {
                    firstResult = System.nanoTime();
                }
                nextLook = System.nanoTime() + OUTPUT_POLL_NANOS;
            }
            // A record of it counts when it left the repartition topic; what is still in there keeps the sum below.
            if (count >= records + REPARTITIONED.sum()) {
                break;
            }
            Thread.sleep(POLL_MILLIS);
        }
        final long allProcessed = System.nanoTime();

        // Closing commits what is not yet committed. It does more than that, which is not counted: the clock stops when
        // the offsets were first seen as they are in the end.
        final Thread closer = new Thread(streams::close, "closer");
        closer.start();
        final List<Map<TopicPartition, Long>> seen = new ArrayList<>();
        final List<Long> seenAt = new ArrayList<>();
        boolean closed;
        do {
            closed = !closer.isAlive();
            seen.add(committed(admin, group));
            seenAt.add(System.nanoTime());
            if (firstResult == 0 && visible(admin, output)) {
                firstResult = System.nanoTime();
            }
            Thread.sleep(2);
        } while (!closed);
        final Map<TopicPartition, Long> last = seen.get(seen.size() - 1);
        final long cpu =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() - cpuAtStart;
        final long done = seenAt.get(seen.indexOf(last));
        final long committedInput = last.entrySet().stream()
            .filter(entry -> inputs.contains(entry.getKey().topic()))
            .mapToLong(Map.Entry::getValue)
            .sum();
        if (committedInput < records) {
            throw new IllegalStateException("only " + committedInput + " of " + records + " records are committed");
        }
        streams.cleanUp();

        final ObjectNode line = JSON.createObjectNode();
        line.put("workload", workload);
        line.put("guarantee", argument("--guarantee"));
        line.put("records", records);
        line.put("seconds", seconds(firstRecord, done));
        line.put("records_per_s", Math.round(records / seconds(firstRecord, done)));
        line.put("first_result_seconds", seconds(started, firstResult));
        line.put("seconds_from_start", seconds(started, done));
        line.put("records_per_s_from_start", Math.round(records / seconds(started, done)));
        line.put("first_record_seconds", seconds(started, firstRecord));
        line.put("processed_seconds", seconds(firstRecord, allProcessed));
        line.put("cpu_seconds", cpu / 1_000_000 / 1e3);
        line.put("first_result_seconds_from_launch", seconds(launched, firstResult));
        line.put("seconds_from_launch", seconds(launched, done));
        System.out.println(JSON.writeValueAsString(line));
    }

    /** Nanoseconds since the harness asked for this process. */
    private long sinceLaunch() {
        final String launched = arguments.get("--launched-at-ms");
        return launched == null ? 0 : (System.currentTimeMillis() - Long.parseLong(launched)) * 1_000_000;
    }

    private static double seconds(final long from, final long to) {
        return Math.round((to - from) / 1e6) / 1e3;
    }

    private static void check(final KafkaStreams streams) {
        final KafkaStreams.State state = streams.state();
        if (state == KafkaStreams.State.PENDING_ERROR || state == KafkaStreams.State.ERROR) {
            throw new IllegalStateException("Kafka Streams failed, see its log");
        }
    }

    /** The records that each thread took through its tasks; the objects stay current. */
    private static List<Metric> processedMetrics(final KafkaStreams streams) {
        return streams.metrics().entrySet().stream()
            .filter(entry -> entry.getKey().group().equals("stream-thread-metrics"))
            .filter(entry -> entry.getKey().name().equals("process-total"))
            .map(Map.Entry::getValue)
            .collect(Collectors.toList());
    }

    private static List<TopicPartition> partitions(final Admin admin, final String topic) throws Exception {
        final int count = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
        return IntStream.range(0, count).mapToObj(p -> new TopicPartition(topic, p)).collect(Collectors.toList());
    }

    /** Whether a read_committed consumer would find a record. */
    private static boolean visible(final Admin admin, final List<TopicPartition> partitions) throws Exception {
        final Map<TopicPartition, OffsetSpec> latest =
            partitions.stream().collect(Collectors.toMap(p -> p, p -> OffsetSpec.latest()));
        return admin.listOffsets(latest, new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all().get().values()
            .stream()
            .anyMatch(result -> result.offset() > 0);
    }

    private static Map<TopicPartition, Long> committed(final Admin admin, final String group) throws Exception {
        final Map<TopicPartition, OffsetAndMetadata> offsets =
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        final Map<TopicPartition, Long> result = new HashMap<>();
        offsets.forEach((partition, offset) -> {
            if (offset != null) {
                result.put(partition, offset.offset());
            }
        });
        return result;
    }
}
